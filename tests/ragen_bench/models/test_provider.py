"""Providers of models: the built-in ones, and those of other distributions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import find_provider, list_providers
from ragen_bench.models.provider import REGISTERED, Provider
from tests.ragen_bench.cli.command import run_alone

MODELS = (Path(__file__).parents[3] / "docs/reference/models.md").read_text(encoding="utf-8")
ABILITIES = ("tools", "pictures", "constrained", "top_p", "seeded")
ECHO = """
from ragen_bench.models.base import CallEngine, Completion
from ragen_bench.models.provider import provider


@provider("echo", form="echo/TEXT", help="answers with one text", options=("timeout",))
def load_echo(text, settings):
    return Echo(text, settings.server and settings.server.timeout)


class Echo:
    slots = group_size = 1

    def __init__(self, text, timeout):
        self.text, self.timeout = text, timeout

    def identity(self):
        return {"text": self.text, "timeout": self.timeout}

    def probe(self):
        return "in this process"

    def engine(self, sampling):
        return CallEngine(lambda requests: [Completion(self.text) for _ in requests])
"""
HEAVY = "import sys; from ragen_bench.models import list_providers; list_providers(); print(sorted(\
{'torch', 'transformers', 'vllm', 'openai', 'any_llm', 'xllamacpp', 'jinja2'} & {*sys.modules}))"


@pytest.fixture
def distribution(tmp_path):
    """A function that installs a distribution with one provider, and returns its PYTHONPATH."""

    def install(code, value="echo_models:load_echo"):
        (tmp_path / "echo_models.py").write_text(code)
        info = tmp_path / "echo_models-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-models\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ragen_bench.models]\necho = {value}\n")
        return f"{tmp_path}:{Path(__file__).parents[3]}"

    return install


@pytest.mark.slow
def test_a_provider_of_another_distribution_is_listed_and_evaluated(distribution, tmp_path):
    path = distribution(ECHO)
    listed = run_alone("list", cwd=tmp_path, PYTHONPATH=path)
    assert "  echo/TEXT                answers with one text\n" in listed.stdout
    text = "<think></think><answer>A</answer>"
    options = ("--env", "Bandit-v0", "--limit", "3", "--timeout", "9", "--out", "run")
    done = run_alone("evaluate", f"echo/{text}", *options, cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "run" / "run.json").read_text())
    assert config["model"] == f"echo/{text}"
    assert config["model_identity"] == {"text": text, "timeout": 9.0}
    refused = run_alone(
        "evaluate", "echo/x", "--pictures", "--env=Cube-v0", cwd=tmp_path, PYTHONPATH=path
    )
    assert "--pictures does not work with echo/x; remove it, or use openai/" in refused.stderr
    refused = run_alone("evaluate", "echo/x", "--retries", "2", cwd=tmp_path, PYTHONPATH=path)
    assert "--retries: for anthropic/, google/ and openai/ only, not for 'echo/x'" in refused.stderr
    mistyped = run_alone("evaluate", "ecko/x", cwd=tmp_path, PYTHONPATH=path)
    assert "unknown model 'ecko/x'; did you mean echo/x?" in mistyped.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "value", "says"),
    [
        ("import nowhere", "echo_models:load", "cannot be imported: ModuleNotFoundError: No mod"),
        (ECHO, "echo_models:load", "cannot be imported: AttributeError: "),
        ("load = 1", "echo_models:load", "is broken: echo_models:load registers no provider of "),
        (ECHO.replace('"echo"', '"hf"'), "echo_models:load_echo", "cannot be imported: ValueErr"),
    ],
)
def test_a_broken_provider_is_one_line(distribution, tmp_path, code, value, says):
    path = distribution(code, value)
    line = f"the model provider 'echo' of echo-models {says}"
    done = run_alone("evaluate", "echo/x", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"ragen-bench: {line}")
    assert done.stderr.count("\n") == 1
    listed = run_alone("list", cwd=tmp_path, PYTHONPATH=path)
    assert listed.returncode == 0
    assert line in listed.stdout
    assert run_alone("evaluate", "rndom", cwd=tmp_path, PYTHONPATH=path).returncode == 2


def test_listing_providers_imports_no_heavy_package():
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_docs_have_the_abilities_of_every_provider():
    assert list_providers()
    for provider in REGISTERED.values():
        assert ability_row(provider) in MODELS


def ability_row(provider: Provider) -> str:
    """Return a provider's row in the table of docs/reference/models.md."""
    extra = f"`{provider.extra}`" if provider.extra else ""
    marks = ["yes" if getattr(provider, ability) else "" for ability in ABILITIES]
    row = [f"`{provider.prefix}`", extra, *marks, provider.response_format or ""]
    return f"| {' | '.join(row)} |".replace("  ", " ")


@pytest.mark.parametrize("name", ["hf/", "random/x", "python:a", "python:a:", "python:a:b:c", "hf"])
def test_names_of_no_known_form_are_refused(name):
    with pytest.raises(UserError, match="unknown model"):
        find_provider(name)


@pytest.mark.slow
def test_an_entry_point_of_a_built_in_name_is_reported(distribution, tmp_path):
    path = distribution(ECHO)
    file = tmp_path / "echo_models-1.0.dist-info" / "entry_points.txt"
    file.write_text(file.read_text().replace("echo =", "random ="))
    options = ("--env", "Bandit-v0", "--limit", "1", "--quiet", "--out", "run")
    for arguments in (("evaluate", "random", *options), ("list",)):
        done = run_alone(*arguments, cwd=tmp_path, PYTHONPATH=path)
        assert done.returncode == 0
        assert done.stderr == (
            "the model provider 'random' of echo-models is not used, since a built-in provider has "
            "the name; rename its entry point\n"
        )
