"""Each sickness that the doctor knows, and models that have it."""

import dataclasses

import pytest

from ragen_bench.audit import doctor
from ragen_bench.audit.doctor import examine
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.errors import UserError
from ragen_bench.models import resolve
from ragen_bench.models.base import Completion
from ragen_bench.visible import format_duration
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from ragen_envs.games.sokoban.env import SokobanEnv

from ..players import Player

NAMES = ["is there", "answers", "form", "stops", "limit", "repeats", "pace"]
GOOD = "<think>up</think><answer>Up</answer>"


class Patient(Player):
    """A model that counts tokens and answers as its symptoms say."""

    def __init__(self, *texts, tokens=lambda limit: min(limit, 9), slots=3, gone=False):
        self._texts, self._tokens, self._gone = texts, tokens, gone
        self.slots = slots
        self.asked = []

    def probe(self):
        if self._gone:
            raise UserError("nothing listens at http://127.0.0.1:9; start the server")
        return "in the ward"

    def complete(self, requests, sampling):
        start = len(self.asked)
        self.asked += requests
        assert len(requests) <= self.slots
        tokens = self._tokens(sampling.max_tokens)
        texts = [self._texts[(start + i) % len(self._texts)] for i in range(len(requests))]
        full = tokens >= sampling.max_tokens
        return [
            Completion(
                text, 5, tokens, "length" if full and not text.endswith(sampling.stop) else "stop"
            )
            for text in texts
        ]


@pytest.fixture
def evaluation():
    return Evaluation(
        model="random",
        suite="",
        instances={"ragen/Sokoban-v0": 3, "ragen/FrozenLake-v0": 5},
        split="val",
        response_format="think",
        samples=2,
        seed=0,
        temperature=1.0,
        max_tokens=20,
    )


def findings(patient, evaluation, questions=6):
    return {f.name: f for f in examine(evaluation, questions, patient)}


def test_a_healthy_model(evaluation):
    patient = Patient(GOOD)
    found = findings(patient, evaluation)
    assert list(found) == NAMES
    assert {finding.status for finding in found.values()} == {"ok"}
    assert found["is there"].detail == "in the ward"
    assert found["answers"].detail == "6 of 6 questions"
    assert found["limit"].detail == "at most 9 tokens of 20 allowed"
    assert "16 episodes take" in found["pace"].detail
    assert len(patient.asked) == 6 + 1 + 6
    keys = [request.key for request in patient.asked[:6]]
    assert keys == [
        f"doctor/ragen/{env}/{index}"
        for index in range(3)
        for env in ("Sokoban-v0", "FrozenLake-v0")
    ]


@pytest.mark.parametrize(
    ("patient", "name", "status", "says"),
    [
        (Patient(GOOD, gone=True), "model", "FAIL", "nothing listens at http://127.0.0.1:9"),
        (Patient(""), "answers", "FAIL", "0 of 6 questions: all responses are empty"),
        (Patient(GOOD, " \n"), "answers", "warn", "3 of 6 questions"),
        (Patient("Up"), "form", "warn", "0 of 6 answers have it, 0 name known actions only"),
        (Patient("x" * 90), "form", "warn", f"an invalid one: '{'x' * 60}...'"),
        (Patient(GOOD, "Up"), "form", "ok", "3 of 6 answers have it, 3 name known actions only"),
        (
            Patient(GOOD.replace("Up", "Fly")),
            "form",
            "warn",
            "6 of 6 answers have it, 0 name known actions only",
        ),
        (
            Patient("I think " * 5, tokens=lambda limit: limit),
            "stops",
            "warn",
            "0 of 6 answers ended before the limit of 20; raise --max-tokens?",
        ),
        (Patient(GOOD, tokens=lambda limit: limit), "stops", "ok", "6 of 6"),
        (
            Patient(GOOD, tokens=lambda limit: limit + 1),
            "limit",
            "FAIL",
            "a response has 21 tokens, 20 are allowed",
        ),
        (
            Patient(GOOD, tokens=lambda limit: 9),
            "limit",
            "FAIL",
            "a response has 9 tokens, 4 are allowed",
        ),
        (Patient(GOOD, tokens=lambda limit: 0), "limit", "ok", "reports no token counts"),
        (Patient(*[GOOD] * 7, "Up"), "repeats", "warn", "asked again, 1 of 6 answers differ"),
    ],
)
def test_a_sickness_is_found(patient, name, status, says, evaluation):
    found = findings(patient, evaluation)
    assert (found[name].status, says in found[name].detail) == (status, True), found[name]
    failed = [finding.name for finding in found.values() if finding.status == "FAIL"]
    assert failed == ([name] if status == "FAIL" else [])
    assert list(found)[-1] == (name if status == "FAIL" else "pace")


class Reasoner(Player):
    def __init__(self, **fields):
        self.fields = {"text": "<answer>Up</answer>", **fields}

    def complete(self, requests, sampling):
        return [Completion(**self.fields) for _ in requests]


def test_a_model_that_reasons_by_itself_is_told_its_form(evaluation):
    found = findings(Reasoner(reasoning="I go up."), evaluation)
    assert found["form"].status == "FAIL"
    assert "add --format answer" in found["form"].detail
    fitting = dataclasses.replace(evaluation, response_format="answer")
    assert findings(Reasoner(reasoning="I go up."), fitting)["form"].status == "ok"
    text = "I go up.</think><answer>Up</answer>"
    assert findings(Reasoner(text=text), fitting)["form"].status == "ok"


def test_a_model_that_comes_to_no_answer_is_told_so(evaluation):
    for response_format in ("think", "answer"):
        asked = dataclasses.replace(evaluation, response_format=response_format)
        found = findings(Reasoner(text="", reasoning="So", finish="length"), asked)
        assert found["answers"].status == "FAIL"
        assert "add --format answer and raise --max-tokens" in found["answers"].detail
    mute = findings(Reasoner(text=""), evaluation)
    assert "all responses are empty; check its chat template" in mute["answers"].detail


def test_a_context_without_room(evaluation):
    found = findings(Reasoner(text="", finish="context"), evaluation)
    assert found["answers"].status == "FAIL"
    assert "does not fit into its context" in found["answers"].detail


def test_the_oracle_comes_first_and_its_failure_ends_the_visit(evaluation, monkeypatch):
    found = list(examine(evaluation, 4))
    assert [finding.name for finding in found] == ["oracle", "loads", *NAMES]
    assert {finding.status for finding in found} == {"ok"}
    assert "in 2 environments, up to 16 val instances each" in found[0].detail
    monkeypatch.setattr(SokobanEnv, "find_best_actions", lambda self: ("Up",))
    (only,) = examine(evaluation, 4)
    assert (only.name, only.status) == ("oracle", "FAIL")
    assert only.detail == "ragen/Sokoban-v0 val seed 0 is not solved"


def test_an_oracle_that_misses_its_ceiling(evaluation, monkeypatch):
    lakes = dataclasses.replace(evaluation, instances={"ragen/FrozenLake-v0": 256})
    monkeypatch.setattr(FrozenLakeEnv, "_find_ceiling", lambda self, lake: 0.999)
    (only,) = examine(lakes, 4)
    assert (only.status, "where the mean ceiling is 0.9990" in only.detail) == ("FAIL", True)


def test_a_model_that_there_is_not(evaluation):
    found = list(examine(dataclasses.replace(evaluation, model="gpt"), 4))
    assert [(finding.name, finding.status) for finding in found] == [
        ("oracle", "ok"),
        ("model", "FAIL"),
    ]
    assert "unknown model 'gpt'" in found[1].detail


def test_the_scripted_models_are_well(evaluation):
    for name in ("random", "oracle"):
        assert {f.status for f in examine(evaluation, 70, resolve(name))} == {"ok"}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.00001, "1 ms at most"),
        (0.0042, "4.2 ms"),
        (0.9, "900 ms"),
        (12.4, "12 s"),
        (89.0, "89 s"),
        (2.5 * 3600, "2.5 hours"),
        (26 * 3600, "26 hours"),
        (72 * 3600, "3 days"),
    ],
)
def test_a_duration_in_words_is_never_zero(seconds, said):
    assert format_duration(seconds) == said


def test_an_answer_of_twelve_seconds_takes_a_day(evaluation):
    assert doctor._range(5 * 3600, 26 * 3600) == "5 to 26 hours"
    assert doctor._range(60, 7200) == "60 s to 2 hours"
    assert doctor._range(7200, 7210) == "2 hours"
    completions = [Completion(text="no", completion_tokens=50)] * 4
    _, pace = doctor._estimate_pace(dataclasses.replace(evaluation, samples=192), completions, 48.0)
    assert pace.startswith("an answer of 50 tokens takes 12 s; 1,536 episodes take 5.1 to ")
