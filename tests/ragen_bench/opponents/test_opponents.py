"""Any model as the opponent, in runs and for Gymnasium; the doctor looks at both."""

import dataclasses

import gymnasium
import pytest

from ragen_bench.audit.doctor import examine
from ragen_bench.errors import UserError
from ragen_bench.models import Completion, resolve
from ragen_bench.opponents.opponent import ModelPair, Opponent, load, make_answerer

from .support import BASE, GAME, Said, finish

pytestmark = pytest.mark.slow


def test_a_model_that_plays_against_itself_is_loaded_once(monkeypatch):
    loaded = []

    def counted(*wanted, **options):
        loaded.append(wanted)
        return resolve(*wanted, **options)

    monkeypatch.setattr("ragen_bench.opponents.opponent.resolve", counted)
    pair = load("random", None, Opponent("random", "think"))
    assert pair.player is pair.opponent
    assert loaded == [("random", None)]
    pair = load("random", None, Opponent("oracle", "think"))
    assert pair.player is not pair.opponent
    # A server that is not there is known before weights are loaded.
    loaded.clear()
    with pytest.raises(UserError, match="OPENAI_BASE_URL"):
        load("hf/nowhere", None, Opponent("openai/m", "think"))
    assert loaded == [("openai/m", None)]


def test_an_opponent_that_fails_is_named_with_its_question(tmp_path, monkeypatch):
    (tmp_path / "failing_opponent.py").write_text("def reply(messages):\n    return 1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    pair = load("oracle", None, Opponent("python:failing_opponent:reply", "plain"))
    says = "instance 0, sample 0, turn 0, as the opponent"
    with pytest.raises(UserError, match=f"ZeroDivisionError.*{says}"):
        finish(tmp_path / "run", pair)


def test_the_doctor_looks_at_both():
    evaluation = dataclasses.replace(BASE, instances={GAME: 4})
    pair = ModelPair(resolve("oracle"), Said(lambda request: "Maybe"), "plain")
    found = list(examine(evaluation, 6, pair))
    looks = ["is there", "answers", "form", "stops", "limit", "repeats", "pace"]
    assert [one.name for one in found] == [*looks, "opponent", *looks]
    assert found[2].detail == "6 of 6 answers have it, 6 name known actions only"
    assert found[7].detail == "random, asked the oracle's first questions"
    assert (found[10].status, found[10].detail[:51]) == (
        "warn",
        "6 of 6 answers have it, 0 name known actions only; ",
    )
    thinks = Said(lambda request: "")
    thinks.complete = lambda requests, sampling: [Completion("", reasoning="hm")] * len(requests)
    form = dataclasses.replace(evaluation, opponent=Opponent("random", "think"))
    *_, last = examine(form, 2, ModelPair(resolve("oracle"), thinks, "think"))
    assert last.status == "FAIL"
    assert "add --opponent-format answer" in last.detail


MODULE = """
def reply(messages):
    system, *_, user = messages
    assert system["role"] == "system" and user["role"] == "user"
    form = "<think>REASONING</think><answer>REPLY</answer>"
    return "<think>hm</think><answer>Yes</answer>" + " and more" * (form not in user["content"])
"""


def test_any_model_is_an_answerer_for_gymnasium(tmp_path, monkeypatch):
    (tmp_path / "yes_sayer.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for form in ("think", "answer"):
        env = gymnasium.make(
            GAME,
            split="test",
            response_format="plain",
            answerer_format=form,
            answerer=make_answerer("python:yes_sayer:reply", form),
        )
        env.reset(seed=0)
        observation, *_, info = env.step("Is it an animal?")
        assert observation.endswith("1. Is it an animal? Yes")
        assert (info["judged"], info["unreadable"]) == (1, 0)
    for name in ("random", "oracle"):
        with pytest.raises(UserError, match=f"{name} reads no text"):
            make_answerer(name)
