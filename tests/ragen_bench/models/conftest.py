"""One real server for all tests of a worker, and a proxy before it."""

import pytest

from .server import llama, proxy
from .server.client import KEY, model_at, texts


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
