"""What a user is told who cannot have vLLM, or asks it for what it has not."""

import sys

import pytest

from ragen_bench.cli.main import main


@pytest.fixture
def without_vllm(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.delitem(sys.modules, "ragen_bench.models.vllm.model", raising=False)
    for name in ("VLLM_ENABLE_V1_MULTIPROCESSING", "VLLM_LOGGING_LEVEL", "VLLM_NO_USAGE_STATS"):
        monkeypatch.setenv(name, "")  # restored afterwards, whatever the module sets


def test_a_missing_package_is_one_line_that_names_it(without_vllm, capsys):
    assert main(["evaluate", "vllm/some/model"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'ragen-bench[vllm]'" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        (
            "vllm/x",
            ["--base-url", "http://127.0.0.1:1/v1"],
            "--base-url: for anthropic/, google/ and openai/ only",
        ),
        (
            "vllm/x",
            ["--concurrency", "4", "--retries", "1"],
            "--retries: for anthropic/, google/ and openai/ only",
        ),
        (
            "random",
            ["--concurrency", "4"],
            "--concurrency: for anthropic/, demo-agent, google/, hf/, openai/, python:",
        ),
        ("vllm/x", ["--concurrency", "0"], "--concurrency must be at least 1"),
    ],
)
def test_options_that_a_model_does_not_take_are_named(model, options, told, capsys):
    assert main(["evaluate", model, *options]) == 2
    assert told in capsys.readouterr().err


def test_vllm_needs_a_name(capsys):
    assert main(["evaluate", "vllm/"]) == 2
    assert "unknown model 'vllm/'" in capsys.readouterr().err
