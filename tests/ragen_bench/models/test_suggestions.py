"""The name that a mistyped model's name was meant to be."""

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import find_provider

AGENT = "def act(messages):\n    return ''\n\n\ndef _helper():\n    pass\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("model", "run/best", "files", "agents"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("model/config.json", "run/best/config.json", "files/m.gguf"):
        (tmp_path / name).touch()
    for name in ("my_agent.py", "agents/other.py"):
        (tmp_path / name).write_text(AGENT)
    (tmp_path / "two.py").write_text(AGENT + "class Agent: ...\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gpt-4o", "openai/gpt-4o"),
        ("o3", "openai/o3"),
        ("claude-sonnet-4", "anthropic/claude-sonnet-4"),
        ("Gemini-2.5-pro", "google/Gemini-2.5-pro"),
        ("grok-4", "openai/grok-4 --base-url https://api.x.ai/v1"),
        (
            "mistral-large-latest",
            "openai/mistral-large-latest --base-url https://api.mistral.ai/v1",
        ),
        ("gpt-oss-20b", "hf/openai/gpt-oss-20b"),
        ("Qwen2.5-0.5B", "hf/Qwen/Qwen2.5-0.5B"),
        ("llama3:8b", "openai/llama3:8b --base-url http://localhost:11434/v1"),
        ("ollama/llama3", "openai/llama3 --base-url http://localhost:11434/v1"),
        ("gemini/gemini-2.0", "google/gemini-2.0"),
        ("huggingface/a/b", "hf/a/b"),
        ("openai:gpt-4o", "openai/gpt-4o"),
        ("openai", "openai/NAME"),
        ("openai/", "openai/NAME"),
        ("Qwen/Qwen2.5-0.5B", "hf/Qwen/Qwen2.5-0.5B"),
        ("http://localhost:8000/v1", "openai/NAME --base-url http://localhost:8000/v1"),
        ("https://huggingface.co/a/b/tree/main", "hf/a/b"),
        ("model", "hf/model"),
        ("./model/", "hf/model"),
        ("run", "hf/run/best"),
        ("files", "gguf/files/m.gguf"),
        ("~/m.gguf", "gguf/~/m.gguf"),
        ("my_agent.py", "python:my_agent:act"),
        ("my_agent", "python:my_agent:act"),
        ("two.py", "python:two:FUNCTION"),
        ("nowhere.py", "python:nowhere:FUNCTION"),
        ("agents/other.py:act", "python:agents.other:act"),
        ("python:my_agent", "python:my_agent:act"),
        ("python:my_agent.py:run", "python:my_agent:run"),
        ("python:agents/other.py:act", "python:agents.other:act"),
        ("python:agents.other", "python:agents.other:act"),
        ("python:own.agent.run", "python:own.agent:run"),
        ("python:a:b:c", "python:a.b:c"),
        ("python/my_agent/run", "python:my_agent:run"),
        ("my_agent:run", "python:my_agent:run"),
        ("random/x", "random"),
        ("smollm2", "smollm2-135m"),
    ],
)
def test_what_was_typed_is_answered_with_what_is_meant(typed, meant):
    with pytest.raises(UserError) as refused:
        find_provider(typed)
    assert str(refused.value) == f"unknown model {typed!r}; did you mean {meant}?"


@pytest.mark.parametrize("typed", ["nowhere", "", "a b", "a/b/c"])
def test_all_forms_are_listed_where_nothing_is_alike(typed):
    with pytest.raises(UserError, match="choose one of: anthropic/NAME, demo-agent, gguf/PATH"):
        find_provider(typed)
