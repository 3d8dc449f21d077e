"""Signs of answers that are not the model's own: seen where they are, and not elsewhere."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from ragen_bench.cli.entries import verify_entry
from ragen_bench.leaderboard import verify
from ragen_bench.leaderboard.plausibility import Plausibility, probability_of_at_least
from ragen_bench.models import Completion
from ragen_bench.runs.directory import read_run
from ragen_bench.suites import SUITES, Suite
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from tests.ragen_bench.leaderboard.entries import entry_of, evaluation, run_of
from tests.ragen_bench.players import Player


@given(st.lists(st.floats(0, 1), max_size=7), st.integers(0, 8))
def test_the_chance_is_the_sum_over_all_outcomes(chances, solved):
    wanted = sum(
        prod(p if won else 1 - p for p, won in zip(chances, outcome, strict=True))
        for outcome in product((True, False), repeat=len(chances))
        if sum(outcome) >= solved
    )
    assert probability_of_at_least(solved, chances) == pytest.approx(min(wanted, 1.0), abs=1e-12)


def test_equal_chances_are_the_binomial_distribution():
    for solved in (0, 300, 471, 530, 700, 1024):
        wanted = binom.sf(solved - 1, 1024, 0.46)
        assert probability_of_at_least(solved, [0.46] * 1024) == pytest.approx(
            wanted, rel=1e-9, abs=1e-15
        )


class Contender(Player):
    """Plays the oracle's answers, or random ones that differ by the sample."""

    def __init__(self, plays_oracle, tokens):
        self._plays_oracle, self._tokens = plays_oracle, tokens

    def complete(self, requests, sampling):
        return [
            Completion(self._answer(request), *self._tokens(number), "length")
            for number, request in enumerate(requests)
        ]

    def _answer(self, request):
        if self._plays_oracle:
            return oracle_answer(request.env)
        return random_answer(request.env, RandomStream("contender", 0, request.key))


@pytest.fixture(scope="module")
def rooms():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "rooms", Suite(1, "for the tests", {"ragen/Sokoban-v0": 12}, 40, 3))
        yield


def of_language_model(player, folder):
    return entry_of(folder, evaluation("hf/somebody", "rooms", samples=3), player)


@pytest.mark.usefixtures("rooms")
def test_an_oracle_that_calls_itself_a_language_model_shows_all_signs(tmp_path, capsys):
    path = of_language_model(Contender(True, lambda _: (0, 0)), tmp_path)
    verdict = verify(path)
    assert verdict.verified
    assert [sign.name for sign in verdict.signs] == ["tokens", "samples", "oracle"]
    said = {sign.name: sign.message for sign in verdict.signs}
    assert said["samples"].startswith("all 24 later samples of an instance begin with the same")
    assert said["tokens"] == f"none was counted in {verdict.turns} responses of a language model"
    content = {}
    assert verify_entry(path, content)
    assert content["signs"] == [sign.as_json() for sign in verdict.signs]
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("sign")] == [
        f"sign  {sign.name:<10} {sign.message}" for sign in verdict.signs
    ]


@pytest.mark.usefixtures("rooms")
def test_answers_that_are_cut_below_the_limit_are_a_sign(tmp_path):
    cut = Contender(False, lambda number: (9, 40 if number % 2 else 39))
    [sign] = verify(of_language_model(cut, tmp_path)).signs
    assert sign.name == "cut"
    assert sign.message.endswith("responses are recorded as cut at 40 tokens, but have fewer")


@pytest.mark.usefixtures("rooms")
@pytest.mark.parametrize("model", ["oracle", "random"])
def test_scripted_players_show_none(model, tmp_path):
    assert verify(entry_of(tmp_path, evaluation(model, "rooms", samples=3))).signs == []


def test_more_than_the_best_player_solves_is_a_sign(tmp_path):
    what = evaluation("oracle", instances={"ragen/FrozenLake-v0": 64})
    run = run_of(tmp_path / "run", what)
    config = read_run(run.path).config.model_copy(update={"model": "python:somebody:answer"})
    episodes = list(run.episodes())
    honest, lucky = Plausibility(config), Plausibility(config)
    for episode in episodes:
        honest.add(episode)
        episode.score, episode.success = 1.0, True
        lucky.add(episode)
    assert honest.find_signs() == []
    [sign] = lucky.find_signs()
    assert sign.name == "ceiling"
    best = sum(episode.ceiling for episode in episodes)
    chance = prod(episode.ceiling for episode in episodes)
    assert sign.message == (
        "ragen/FrozenLake-v0: 64 of 64 episodes are solved; the best player solves "
        f"{best:.1f} on average, and that many with probability {chance:.1g}"
    )


def test_more_than_a_reference_player_solves_is_no_sign(tmp_path):
    what = evaluation("oracle", instances={"ragen/MinesweeperLarge-v0": 64})
    run = run_of(tmp_path / "run", what)
    config = read_run(run.path).config.model_copy(update={"model": "python:somebody:answer"})
    lucky = Plausibility(config)
    for episode in run.episodes():
        episode.score, episode.success, episode.ceiling = 1.0, True, 0.1
        lucky.add(episode)
    assert lucky.find_signs() == []
