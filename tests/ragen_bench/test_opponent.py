"""Runs of two models: what is recorded, replayed, resumed, counted and refused."""

import copy
import dataclasses
import json

import gymnasium
import pytest

from ragen_bench.compare import compare, floor_and_ceiling
from ragen_bench.config_check import config_differences, config_problem
from ragen_bench.cost import Price, Prices
from ragen_bench.doctor import examine_model
from ragen_bench.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.evaluation import Evaluation, evaluate, refuse_early
from ragen_bench.fields import episode_problem
from ragen_bench.leaderboard.rules import refusal
from ragen_bench.models import Completion, resolve
from ragen_bench.models.pair import Pair
from ragen_bench.opponent import Opponent, answerer, load
from ragen_bench.replay import replay
from ragen_bench.report import write_report
from ragen_bench.specification import spec_hash
from ragen_bench.statistics import mean_interval
from ragen_bench.suites import make_env
from ragen_bench.summary import baseline, summarise
from ragen_envs.protocol import format_answer
from ragen_envs.twenty_questions.answerer import answer as rule_answer
from ragen_envs.twenty_questions.forms import Guess
from ragen_envs.twenty_questions.loader import load as knowledge
from ragen_envs.twenty_questions.replies import read_reply
from ragen_envs.twenty_questions.understanding import understand

from .models.test_pair import Batched
from .players import Player

GAME, RULE = "ragen/TwentyQuestionsModel-v0", "ragen/TwentyQuestions-v0"
BASE = Evaluation(
    model="random",
    suite="",
    instances={GAME: 8},
    split="test",
    response_format="answer",
    samples=2,
    seed=0,
    temperature=1.0,
    max_tokens=8,
    opponent=Opponent("random", "plain"),
)


class Said(Player):
    """Says what a function of the request returns."""

    slots = 8

    def __init__(self, say, tokens=(7, 3)):
        self._say, self._tokens = say, tokens

    def complete(self, requests, sampling):
        return [Completion(self._say(request), *self._tokens) for request in requests]


def asks(*questions):
    """A player that asks these, a turn each, and then guesses a dog."""

    def say(request):
        turn = int(request.key.rpartition("/")[2])
        text = questions[turn] if turn < len(questions) else "Is it a dog?"
        return format_answer([text], request.env.response_format)

    return Said(say)


def finish(path, players, **changes):
    run = evaluate(dataclasses.replace(BASE, **changes), players, path)
    run.unlock()
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of players that reply well, at random and without form, in batches."""
    return finish(tmp_path_factory.mktemp("pair") / "run", Pair(Batched(), Batched(), "plain"))


@pytest.fixture(scope="module")
def episodes(run):
    return list(run.episodes())


def test_against_the_rule_the_asker_plays_the_game_with_the_rule(tmp_path):
    """Every field of every turn but the replies' own, for a good player and a poor one."""
    for name, player in (
        ("oracle", resolve("oracle")),
        ("asker", asks("Is it an animal?", "Could it be bigger than a car?", "Florble it?")),
    ):
        pair = Pair(player, resolve("oracle"), "answer")
        against = list(finish(tmp_path / f"{name}-model", pair).episodes())
        alone = finish(tmp_path / name, player, instances={RULE: 8}, opponent=None).episodes()
        for one, other in zip(against, alone, strict=True):
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
    assert run.config["opponent"] == {
        "model": "random",
        "response_format": "plain",
        "model_identity": {},
    }
    assert (run.config["slots"], run.config["group_size"]) == (4, 8)
    alone = dataclasses.replace(BASE, instances={RULE: 8}, opponent=None)
    config = alone.config(resolve("random"))
    assert "opponent" not in config
    assert config["prompt_hash"] != run.config["prompt_hash"]
    assert config_problem(run.config) is None
    assert list(config_differences(run.config)) == []
    assert spec_hash(GAME, "test", "answer") != spec_hash(RULE, "test", "answer")


# Replay.


def problem_of(run, record):
    ((_, problem),) = replay(run.config, [record])
    return problem


def test_replay_agrees_with_every_episode(run, episodes):
    through_json = json.loads(json.dumps(episodes))
    assert [problem for _, problem in replay(run.config, through_json)] == [None] * len(episodes)


def asked_turn(record):
    """Return the number of a turn whose question the rule answers and the opponent answered."""
    return next(
        number
        for number, turn in enumerate(record["turns"])
        if "opponent" in turn and turn["opponent"]["rule"] and turn["opponent"]["read"]
    )


TAMPERED = {
    "answer": (lambda reply: "Yes" if reply["read"] != "Yes" else "No", "recorded"),
    "observation": (lambda reply: reply["observation"] + " ", "observation: recorded"),
    "rule": (lambda reply: "Sometimes" if reply["rule"] != "Sometimes" else "No", "rule: recorded"),
    "read": (lambda reply: None, "read: recorded null, recomputed"),
    "readable": (lambda reply: False, "readable: recorded false, recomputed true"),
    "agrees": (lambda reply: not reply["agrees"], "agrees: recorded"),
    "finish": (lambda reply: "context", 'opponent.finish: recorded "context"'),
    "prompt_tokens": (lambda reply: -1, "opponent.prompt_tokens: recorded -1, which is no count"),
    "reasoning": (lambda reply: None, "opponent.reasoning: recorded null, which is not a text"),
}


@pytest.mark.parametrize("field", TAMPERED)
def test_a_tampered_reply_is_refused(run, episodes, field):
    record = copy.deepcopy(episodes[0])
    reply = record["turns"][asked_turn(record)]["opponent"]
    change, says = TAMPERED[field]
    reply[field] = change(reply)
    problem = problem_of(run, record)
    assert says in problem
    assert "\n" not in problem


def test_a_reply_that_is_missing_or_too_much_is_refused(run, episodes):
    record = copy.deepcopy(episodes[0])
    number = asked_turn(record)
    reply = record["turns"][number].pop("opponent")
    says = f"turns[{number}].opponent: recorded null, which is not an object"
    assert problem_of(run, record) == says
    [other, *_] = [one for one in episodes if any("opponent" not in t for t in one["turns"])]
    record = copy.deepcopy(other)
    number = next(i for i, turn in enumerate(record["turns"]) if "opponent" not in turn)
    record["turns"][number]["opponent"] = reply
    says = f"turns[{number}].opponent: is recorded, and no opponent was asked"
    assert problem_of(run, record) == says


@pytest.mark.parametrize("name", ["judged", "agreed", "wrong", "unreadable", "overflowed"])
def test_tampered_counts_are_refused(run, episodes, name):
    record = copy.deepcopy(episodes[0])
    record["opponent"][name] += 1
    assert f"opponent.{name}: recorded" in problem_of(run, record)


# Resuming.


@pytest.mark.parametrize("kept", [1, 9, 15])
def test_an_interrupted_run_ends_with_the_same_bytes(run, tmp_path, kept):
    lines = run.episodes_file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 16
    finish(tmp_path / "run", Pair(Batched(), Batched(), "plain"))
    episodes = tmp_path / "run" / "episodes.jsonl"
    episodes.write_bytes(b"".join(lines[:kept]) + lines[kept][:50])
    finish(tmp_path / "run", Pair(Batched(), Batched(), "plain"))
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
        finish(run.path, Pair(Batched(), Other(), "plain"))


# Where the context is too short.


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

    pair = Pair(asks(*["Is it an animal?"] * 9), Short(None), "plain")
    found = finish(tmp_path / "run", pair, instances={GAME: 1}, samples=1)
    [record] = found.episodes()
    assert (record["outcome"], record["success"], record["score"]) == ("context_overflow", False, 0)
    assert len(record["turns"]) == 2
    assert record["opponent"]["overflowed"] is True
    assert record["opponent"]["judged"] == 2
    assert problem_of(found, record) is None
    record["opponent"]["overflowed"] = "yes"
    assert problem_of(found, record) == 'opponent.overflowed: recorded "yes", recomputed false'


def test_a_player_without_room_is_not_the_opponents_doing(tmp_path):
    class Short(Said):
        def complete(self, requests, sampling):
            return [Completion("", 9, 0, "context") for _ in requests]

    pair = Pair(Short(None), resolve("oracle"), "plain")
    found = finish(tmp_path / "run", pair, instances={GAME: 1}, samples=1)
    [record] = found.episodes()
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


# Figures.


def test_the_summary_recomputed_from_the_episodes(run, episodes):
    [row] = summarise(run)["envs"]
    found = row["opponent"]
    replies = [
        (episode["index"], turn["opponent"])
        for episode in episodes
        for turn in episode["turns"]
        if "opponent" in turn
    ]
    judged = [(index, reply["read"] == reply["rule"]) for index, reply in replies if reply["rule"]]
    assert found["replies"] == len(replies) > 50
    assert found["judged"] == len(judged) > 50
    assert found["agreed"] == sum(right for _, right in judged)
    assert found["agreement"] == round(sum(right for _, right in judged) / len(judged), 6)
    assert 0.3 < found["agreement"] < 0.9
    wrong = [r for _, r in replies if r["rule"] and r["read"] and r["read"] != r["rule"]]
    assert found["wrong"] == len(wrong) > 5
    assert found["unreadable"] == sum(not reply["readable"] for _, reply in replies) > 5
    clusters = {}
    for index, right in judged:
        clusters.setdefault(index, []).append(float(right))
    assert len(clusters) == 8
    low, high = mean_interval(list(clusters.values()))
    assert found["agreement_interval"] == [round(low, 6), round(high, 6)]
    assert found["prompt_tokens"] == 7 * len(replies)
    assert found["completion_tokens"] == 3 * len(replies)


def test_nothing_judged_is_no_agreement(tmp_path):
    pair = Pair(asks("Florble it?"), resolve("oracle"), "plain")
    found = finish(tmp_path / "run", pair, samples=1)
    [row] = summarise(found)["envs"]
    assert row["opponent"]["agreement"] is row["opponent"]["agreement_interval"] is None
    assert (row["opponent"]["replies"], row["opponent"]["judged"]) == (8, 0)
    page = write_report(found, summarise(found)).read_text(encoding="utf-8")
    assert "8, of which 0 to questions" in page


def test_floor_and_ceiling_are_those_of_the_rule_answering():
    oracle = baseline("oracle", GAME, "test", 4)
    assert oracle == baseline("oracle", RULE, "test", 4)
    assert (oracle["success"], oracle["ceiling"]) == (1.0, 1.0)
    floor = baseline("random", GAME, "test", 4)
    assert floor["success"] < 0.2
    assert floor_and_ceiling(GAME, "test", [0, 1, 2, 3]) == pytest.approx((floor["score"], 1.0))


def test_the_cost_is_that_of_both_or_unknown(tmp_path):
    pair = Pair(asks("Is it an animal?"), Said(lambda request: "Yes", (100, 10)), "plain")
    found = finish(
        tmp_path / "run",
        pair,
        instances={GAME: 2},
        samples=1,
        model="openai/a",
        opponent=Opponent("openai/b", "plain"),
    )
    turns = sum(len(episode["turns"]) for episode in found.episodes())
    both = Prices("EUR", (Price(("openai/a",), 1e6, 0.0), Price(("openai/b",), 2e6, 3e6)))
    amount = summarise(found, both)["cost"]["amount"]
    assert amount == turns * 7 + 2 * (100 * 2 + 10 * 3)
    for known in both.prices:
        assert summarise(found, Prices("EUR", (known,)))["cost"] is None


def test_the_report_names_the_opponent_and_its_agreement(run):
    summary = summarise(run)
    page = write_report(run, summary).read_text(encoding="utf-8")
    figures = summary["envs"][0]["opponent"]
    assert "<dt>Opponent</dt><dd><bdi>random</bdi>, form plain</dd>" in page
    assert f"The rule's are {100 * figures['agreement']:.1f} %" in page
    assert f"wrong are {figures['wrong']};" in page


# What is refused.


def test_runs_against_other_opponents_are_not_compared(run, tmp_path):
    pair = Pair(Batched(), resolve("oracle"), "plain")
    other = finish(tmp_path / "other", pair, opponent=Opponent("oracle", "plain"))
    with pytest.raises(UserError, match="cannot be compared: opponent: ") as caught:
        compare(run, other)
    assert '"model": "oracle"' in str(caught.value)
    alone = finish(tmp_path / "alone", Batched(), instances={RULE: 8}, opponent=None)
    with pytest.raises(UserError, match="cannot be compared: opponent: "):
        compare(run, alone)
    same = finish(tmp_path / "same", Pair(Batched(), Batched(), "plain"), seed=1)
    [row] = compare(run, same)["envs"]
    assert row["instances"] == 8
    assert row["normalised"]["ceiling"] == 1.0


def test_no_run_of_two_models_becomes_an_entry(run):
    assert "the run is played against a model, on which its scores depend" in refusal(run.config)
    assert refusal({**run.config, "suite": "quick"}) == refusal(run.config)


def without(config, *names):
    return {name: value for name, value in config.items() if name not in names}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: without(c, "opponent"), f"names no opponent in {GAME}"),
        (lambda c: {**c, "opponent": 3}, "has 'opponent', which is not an object"),
        (
            lambda c: {**c, "opponent": without(c["opponent"], "model")},
            "has 'opponent', which lacks model",
        ),
        (
            lambda c: {**c, "opponent": {**c["opponent"], "model_identity": ""}},
            "has 'opponent', which has 'model_identity' that is not an object",
        ),
        (
            lambda c: {**c, "opponent": {**c["opponent"], "response_format": "xml"}},
            'names the unknown format "xml"',
        ),
        (
            lambda c: {**c, "envs": [{**c["envs"][0], "id": RULE}]},
            f"names an opponent in {RULE}",
        ),
        (
            lambda c: {**c, "envs": [*c["envs"], {**c["envs"][0], "id": RULE}]},
            f"names an opponent in {RULE}",
        ),
    ],
)
def test_a_configuration_that_cannot_be(run, change, says):
    assert config_problem(change(copy.deepcopy(run.config))) == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda e: e.pop("opponent"), "has 'opponent', which is not an object"),
        (lambda e: e["opponent"].pop("wrong"), "has 'opponent', which lacks wrong"),
        (lambda e: e["opponent"].update(agreed=99), "has 'opponent', whose counts cannot be"),
        (lambda e: e["opponent"].update(unreadable=-1), "has 'opponent', whose counts cannot be"),
        (lambda e: e["turns"][0].update(opponent=[]), "has turn 1, which has 'opponent', which is"),
        (
            lambda e: e["turns"][0].update(opponent={}),
            "has turn 1, which has 'opponent', which lacks observation, answer",
        ),
    ],
)
def test_an_episode_that_cannot_be(episodes, change, says):
    record = copy.deepcopy(episodes[0])
    assert episode_problem(record) is None
    change(record)
    assert episode_problem(record).startswith(says)


# The models themselves.


def test_a_model_that_plays_against_itself_is_loaded_once():
    pair = load("random", None, Opponent("random", "think"))
    assert pair.player is pair.opponent
    pair = load("random", None, Opponent("oracle", "think"))
    assert pair.player is not pair.opponent


def test_the_doctor_looks_at_both():
    evaluation = dataclasses.replace(BASE, instances={GAME: 4})
    pair = Pair(resolve("oracle"), Said(lambda request: "Maybe"), "plain")
    found = list(examine_model(pair, evaluation, 6))
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
    *_, last = examine_model(Pair(resolve("oracle"), thinks, "think"), form, 2)
    assert last.status == "FAIL"
    assert "add --opponent-format answer" in last.detail


MODULE = """
def reply(messages):
    system, user = messages
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
            answerer=answerer("python:yes_sayer:reply", form),
        )
        env.reset(seed=0)
        observation, *_, info = env.step("Is it an animal?")
        assert observation.endswith("1. Is it an animal? Yes")
        assert (info["judged"], info["unreadable"]) == (1, 0)
    for name in ("random", "oracle"):
        with pytest.raises(UserError, match=f"{name} reads no text"):
            answerer(name)


def test_the_oracle_asks_on_whatever_is_replied(tmp_path):
    """An opponent that lies leaves no word; the oracle goes on to its last turn."""
    liar = Said(lambda request: "No" if request.env.question.rule == "Yes" else "Yes")
    found = finish(tmp_path / "run", Pair(resolve("oracle"), liar, "plain"), samples=1)
    outcomes = {episode["outcome"] for episode in found.episodes()}
    assert outcomes == {"truncated"}
    [row] = summarise(found)["envs"]
    assert row["opponent"]["agreement"] == 0.0


def test_replies_at_random_are_a_function_of_seed_and_key(run, tmp_path):
    def replies(seed):
        pair = Pair(resolve("oracle"), resolve("random"), "plain")
        found = finish(tmp_path / f"run{seed}", pair, instances={GAME: 2}, seed=seed)
        return [
            turn["opponent"]["answer"]
            for episode in found.episodes()
            for turn in episode["turns"]
            if "opponent" in turn
        ]

    assert replies(0)[:10] != replies(1)[:10]
    assert set(replies(0)) == {"Yes", "No", "Sometimes", "I cannot tell, please rephrase"}


def test_the_first_player_is_asked_what_the_game_with_the_rule_asks():
    texts = []
    for env in (GAME, RULE):
        made = make_env(env, "val", "think")
        texts.append(Episode(Task(env, "val", 3, 0), 0, made, "think").request().messages)
    assert texts[0] == texts[1]
