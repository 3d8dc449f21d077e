"""Where agents run, as options and the environment say."""

import pytest

import ragen_bench
from ragen_bench.errors import UserError
from ragen_bench.models import resolve
from ragen_bench.models.provider import Isolation
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions
from ragen_envs.core.sealed import new_key

OWN = "python:own:answer"


def isolation(model=OWN, **options):
    given = {"env": ("Bandit-v0",), **options}
    return build_evaluation(EvaluationOptions(model=model, **given)).isolation


def test_agents_are_isolated_where_it_is_asked_for_and_where_a_key_is(monkeypatch):
    for variable in ("RAGEN_SEALED_KEY", "RAGEN_SEALED_KEY_FILE"):
        monkeypatch.delenv(variable, raising=False)
    assert isolation() == Isolation("process")
    assert isolation(timeout=3.0) == Isolation("process", seconds=3.0)
    assert isolation(isolate=True) == Isolation("sandbox", 4, 600.0, "--isolate")
    assert isolation(isolate=True, memory=7, timeout=3.0).memory == 7
    assert isolation(split="sealed").reason == "it plays sealed instances"
    game = ("TwentyQuestionsModel-v0",)
    assert isolation("oracle", env=game, opponent=OWN, isolate=True).level == "sandbox"
    for variable in ("RAGEN_SEALED_KEY", "RAGEN_SEALED_KEY_FILE"):
        with monkeypatch.context() as changed:
            changed.setenv(variable, "x")
            assert isolation().level == "sandbox"
            assert isolation("random") == Isolation("process")


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        ("random", {"isolate": True}, "--isolate: for python: only, not for 'random'"),
        (OWN, {"memory": 4}, "--memory goes with --isolate"),
        (OWN, {"memory": 0, "isolate": True}, "--memory must be at least 1, got 0"),
        ("random", {"timeout": 3.0}, "--timeout: for anthropic/, google/, openai/ and python: on"),
    ],
)
def test_options_of_no_use_are_refused(model, options, says):
    with pytest.raises(UserError, match=f"^{says}"):
        isolation(model, **options)


def test_sealed_refuses_agents_where_nothing_isolates_them(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    says = r"^python:own:answer is to be isolated \(it plays sealed instances\), and bubblewrap is "
    with pytest.raises(UserError, match=says + "not installed: apt install bubblewrap$"):
        resolve(OWN, isolation=isolation(split="sealed"))
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(UserError, match="and bubblewrap isolates on Linux alone"):
        resolve(OWN, isolation=isolation(isolate=True))


def answer(messages):
    """An agent that a caller hands over."""
    return "Up"


def test_what_only_this_process_can_find_plays_no_sealed_instances(monkeypatch, tmp_path):
    monkeypatch.setenv("RAGEN_SEALED_KEY", new_key())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(answer, "__module__", "__main__")
    monkeypatch.setattr("__main__.answer", answer, raising=False)
    with pytest.raises(
        UserError, match=r"^python:__main__:answer is to be isolated .* put it into"
    ):
        ragen_bench.evaluate(answer, env="Bandit-v0", limit=1, split="sealed", progress=False)
