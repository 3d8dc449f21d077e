"""Two models in one game: what a run of them records, and how it goes on."""

import dataclasses

import pytest

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.evaluation import refuse_early
from ragen_bench.errors import UserError
from ragen_bench.models import Completion, resolve
from ragen_bench.opponents.opponent import ModelPair, Opponent
from ragen_bench.runs.differences import find_differences
from ragen_bench.runs.specification import config_differences, config_problem, spec_hash
from ragen_bench.suites import make_env
from ragen_envs.games.twenty_questions.answerer import AnswererSeat, read_reply
from ragen_envs.games.twenty_questions.forms import Guess
from ragen_envs.games.twenty_questions.forms import answer as rule_answer
from ragen_envs.games.twenty_questions.knowledge.loader import load as knowledge
from ragen_envs.games.twenty_questions.understanding import understand

from .support import BASE, GAME, RULE, Said, asks, finish, problem_of
from .test_opponent_pair import Batched

pytestmark = pytest.mark.slow


def test_against_the_rule_the_asker_plays_the_game_with_the_rule(tmp_path):
    """Every field of every turn but the replies' own, for a good player and a poor one."""
    for name, player in (
        ("oracle", resolve("oracle")),
        ("asker", asks("Is it an animal?", "Could it be bigger than a car?", "Florble it?")),
    ):
        pair = ModelPair(player, resolve("oracle"), "answer")
        against = finish(tmp_path / f"{name}-model", pair).recorded()
        alone = finish(tmp_path / name, player, instances={RULE: 8}, opponent=None).recorded()
        for (one, _), (other, _) in zip(against, alone, strict=True):
            replies = [turn.pop("opponent", None) for turn in one["turns"]]
            counts = one.pop("opponent")
            assert {**one, "env": RULE} == other
            asked = [reply for reply in replies if reply]
            assert len(asked) >= 3
            assert all(reply["agrees"] in (True, None) for reply in asked)
            assert counts["judged"] == counts["agreed"] == sum(bool(r["agrees"]) for r in asked)
            assert counts["wrong"] == counts["unreadable"] == 0


def test_what_is_recorded_of_a_reply(run, episodes):
    """The rule's and the read answers are recomputed from the texts alone."""
    known = knowledge()
    made = make_env(GAME, "test", "answer", "plain")
    for episode in episodes:
        made.reset(seed=episode["index"])
        word = known.concepts[made.secret]
        for turn in episode["turns"]:
            asked = made.read(turn["answer"])[1] if turn["format_is_valid"] else ()
            form = understand(asked[0], known) if asked else None
            assert ("opponent" in turn) == (bool(asked) and not isinstance(form, Guess))
            if "opponent" not in turn:
                continue
            reply = turn["opponent"]
            rule = None if form is None else rule_answer(form, word, known)
            heard = read_reply(reply["answer"], asked[0], made.secret)
            assert (reply["rule"], reply["read"], reply["readable"]) == (rule, *heard)
            assert reply["agrees"] == (None if rule is None else heard.answer == rule)
            assert reply["observation"].count(asked[0]) >= 1
            assert made.secret in reply["observation"]
            assert reply["observation"].endswith("REPLY")  # the plain form
            assert (reply["prompt_tokens"], reply["completion_tokens"]) == (7, 3)
            assert reply["finish"] == "stop"


def test_the_run_names_its_opponent_and_others_have_none(run, tmp_path):
    assert run.config.opponent.as_json() == {
        "model": "random",
        "response_format": "plain",
        "model_identity": {},
    }
    assert (run.config.slots, run.config.group_size) == (4, 8)
    alone = dataclasses.replace(BASE, instances={RULE: 8}, opponent=None)
    config = alone.config(resolve("random"))
    assert "opponent" not in config.as_json()
    assert config.prompt_hash != run.config.prompt_hash
    found = find_differences(config.as_json(), run.config.as_json())
    assert not any("prompt_hash" in difference for difference in found)
    assert config_problem(run.config) is None
    assert list(config_differences(run.config)) == []
    assert spec_hash(GAME, "test", "answer") != spec_hash(RULE, "test", "answer")


@pytest.mark.parametrize("kept", [1, 9, 15])
def test_an_interrupted_run_ends_with_the_same_bytes(run, tmp_path, kept):
    lines = run.episodes_file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 16
    finish(tmp_path / "run", ModelPair(Batched(), Batched(), "plain"))
    episodes = tmp_path / "run" / "episodes.jsonl"
    episodes.write_bytes(b"".join(lines[:kept]) + lines[kept][:50])
    finish(tmp_path / "run", ModelPair(Batched(), Batched(), "plain"))
    assert episodes.read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    ("opponent", "says"),
    [
        (Opponent("oracle", "plain"), 'opponent.model: "random" there, "oracle" here'),
        (Opponent("random", "think"), 'opponent.response_format: "plain" there, "think" here'),
    ],
)
def test_a_run_against_another_opponent_is_refused_before_anything_loads(run, opponent, says):
    other = dataclasses.replace(BASE, opponent=opponent)
    with pytest.raises(UserError, match=says) as caught:
        refuse_early(other, run.path)
    assert "prompt_hash" not in str(caught.value)
    refuse_early(BASE, run.path)


def test_an_opponent_that_changed_under_its_name_is_refused(run):
    class Other(Batched):
        def identity(self):
            return {"fingerprint": "beef"}

    with pytest.raises(UserError, match=r'opponent.model_identity.fingerprint: null there, "beef"'):
        finish(run.path, ModelPair(Batched(), Other(), "plain"))


def test_an_opponent_without_room_ends_the_episode_and_is_named(tmp_path):
    class Short(Said):
        def complete(self, requests, sampling):
            return [
                Completion("", 9, 0, "context")
                if "Question 3" in str(request.messages)
                # It is the third question that is too long.
                else Completion("Yes", 7, 3)
                for request in requests
            ]

    pair = ModelPair(asks(*["Is it an animal?"] * 9), Short(None), "plain")
    found = finish(tmp_path / "run", pair, instances={GAME: 1}, samples=1)
    [(record, _)] = found.recorded()
    assert (record["outcome"], record["success"], record["score"]) == ("context_overflow", False, 0)
    assert len(record["turns"]) == 2
    assert record["opponent"]["overflowed"] is True
    assert record["opponent"]["judged"] == 2
    assert problem_of(found, record) is None
    record["opponent"]["overflowed"] = "yes"
    assert problem_of(found, record).startswith('has opponent.overflowed "yes", which is not')


def test_a_player_without_room_is_not_the_opponents_doing(tmp_path):
    class Short(Said):
        def complete(self, requests, sampling):
            return [Completion("", 9, 0, "context") for _ in requests]

    pair = ModelPair(Short(None), resolve("oracle"), "plain")
    found = finish(tmp_path / "run", pair, instances={GAME: 1}, samples=1)
    [(record, _)] = found.recorded()
    assert record["turns"] == []
    assert record["opponent"]["overflowed"] is False
    assert problem_of(found, record) is None


def test_thoughts_that_the_opponents_server_takes_out_are_no_broken_form():
    made = make_env(GAME, "test", "answer", "think")
    episode = Episode(Task(GAME, "test", 0, 0), 0, made, "answer")
    episode.take(Completion("<answer>Is it an animal?</answer>"))
    assert episode.asked == "opponent"
    with pytest.raises(
        UserError, match=r"the opponent reasons by itself.*--opponent-format answer"
    ):
        episode.take(Completion("<answer>Yes</answer>", reasoning="hm"))


def test_the_first_player_is_asked_what_the_game_with_the_rule_asks():
    texts = []
    for env in (GAME, RULE):
        made = make_env(env, "val", "think")
        texts.append(Episode(Task(env, "val", 3, 0), 0, made, "think").request().messages)
    assert texts[0] == texts[1]


def test_the_specification_covers_what_the_opponent_reads(monkeypatch):
    before = spec_hash(GAME, "test", "answer")
    monkeypatch.setattr(AnswererSeat, "text", property(lambda seat: "Reply."))
    assert spec_hash(GAME, "test", "answer") != before
