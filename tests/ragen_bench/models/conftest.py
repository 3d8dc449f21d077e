"""One real server for all tests of a worker, a proxy before it, and agents written by a test."""

import importlib
import sys

import pytest

from ragen_bench.models.agents.function import FunctionModel

from .api import llama, proxy
from .api.client import KEY, model_at, texts


@pytest.fixture(scope="session")
def server():
    with llama.running() as url:
        yield url


@pytest.fixture(scope="session")
def standing(server):
    return proxy.Proxy(server)


@pytest.fixture
def between(standing, monkeypatch):
    """The proxy, without faults and counts of earlier tests."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    standing.reset()
    return standing


@pytest.fixture
def model(between):
    return model_at(between.url)


@pytest.fixture(scope="session")
def faultless(server):
    """Answers without faults, asked for without the proxy."""
    return texts(model_at(server))


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Writes the module `own_agent` and returns its model, fresh each time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def forget():
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]

    def write(source, attribute="answer", module="own_agent", at_once=8, **others):
        for name, text in {module: source, **others}.items():
            file = tmp_path / f"{name.replace('.', '/')}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        forget()
        importlib.invalidate_caches()
        return FunctionModel(module, attribute, at_once)

    yield write
    forget()
