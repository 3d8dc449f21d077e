"""A model in process, on a small random one, with an opponent whose answers come as they like."""

import dataclasses
import json

import pytest

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.errors import UserError
from ragen_bench.models import Completion
from ragen_bench.models.hf.model import HFModel, SlotEngine
from ragen_bench.opponents.opponent import ModelPair, Opponent, make_answerer
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer

from ..opponents.test_opponent_pair import GAME, Clocked
from .hf_models import save_tiny

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
BASE = Evaluation(
    model="hf/tiny",
    suite="",
    instances={GAME: 4},
    split="test",
    response_format="plain",
    samples=1,
    seed=0,
    temperature=1.0,
    max_tokens=3,
    history=1,
    opponent=Opponent("hf/tiny", "plain"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tiny")
    return save_tiny(place, max_position_embeddings=2048, num_hidden_layers=1)


@pytest.fixture(scope="module")
def model(folder):
    return HFModel(str(folder), slots=3)


@pytest.fixture
def calls(monkeypatch):
    """Every call of the engine in process, in order: they decide what shares its batches."""
    seen = []

    def submit(engine, request):
        seen.append(request.key)
        plain_submit(engine, request)

    def collect(engine):
        seen.append("collect")
        return plain_collect(engine)

    plain_submit, plain_collect = SlotEngine.submit, SlotEngine.collect
    monkeypatch.setattr(SlotEngine, "submit", submit)
    monkeypatch.setattr(SlotEngine, "collect", collect)
    return seen


def finish(path, players, **changes):
    play_run(dataclasses.replace(BASE, **changes), players, path).unlock()
    return (path / "episodes.jsonl").read_bytes()


class Server(Clocked):
    """Random play in any order; a game in which nobody guesses is too long for a test."""

    def engine(self, sampling):
        engine = super().engine(sampling)
        engine.answer = lambda request: Completion(
            random_answer(request.env, RandomStream("server", request.key))
        )
        return engine


@pytest.mark.parametrize("first", [True, False])
def test_batches_and_bytes_do_not_depend_on_a_servers_clock(model, calls, tmp_path, first):
    found = []
    for order in range(2):
        server = Server(order)
        pair = ModelPair(*((model, server) if first else (server, model)), "plain")
        calls.clear()
        found.append((finish(tmp_path / str(order), pair), list(calls)))
    assert found[0] == found[1]
    assert calls.count("collect") < len(calls) / 2 + 5  # several answers are under way at once
    texts = {turn["answer"] for turn in turns_of(found[0][0])} | {
        turn["opponent"]["answer"] for turn in turns_of(found[0][0]) if "opponent" in turn
    }
    assert len(texts) > 20


def turns_of(episodes):
    return [turn for line in episodes.splitlines() for turn in json.loads(line)["turns"]]


def test_a_model_against_itself_resumes_to_the_same_bytes(folder, tmp_path):
    two = HFModel(str(folder), slots=2)
    whole = finish(tmp_path / "run", ModelPair(two, two, "plain"), instances={GAME: 9})
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 9
    # Of two groups of eight, the second has an episode only, and the first a torn one.
    (tmp_path / "run" / "episodes.jsonl").write_bytes(b"".join([*lines[:5], lines[5][:99]]))
    anew = HFModel(str(folder), slots=2)
    assert finish(tmp_path / "run", ModelPair(anew, anew, "plain"), instances={GAME: 9}) == whole
    config = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (config["slots"], config["group_size"]) == (2, 8)
    assert config["opponent"]["model_identity"] == config["model_identity"]
    asked = [turn["opponent"] for turn in turns_of(whole) if "opponent" in turn]
    assert len(asked) > 100
    assert all(0 < reply["completion_tokens"] <= 3 for reply in asked)
    assert all(reply["prompt_tokens"] > 100 for reply in asked)


def test_an_answerer_is_a_function_of_seed_call_and_text(folder):
    def replies(seed):
        options = {"temperature": 1.0, "max_tokens": 6, "seed": seed}
        ask = make_answerer(f"hf/{folder}", "plain", **options)
        return [ask(text) for text in ("Is it wet?", "Is it wet?", "Is it dry?")]

    first = replies(0)
    assert replies(0) == first
    assert len(set(first)) == 3
    assert replies(1) != first


def test_an_answerer_without_room_says_so(folder):
    ask = make_answerer(f"hf/{folder}", "plain", max_tokens=6)
    with pytest.raises(UserError, match="has no room for an answer to 9000 characters"):
        ask("wet dry  " * 1000)
