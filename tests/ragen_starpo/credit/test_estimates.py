"""True advantages of turns, and the estimates that are compared with them."""

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ragen_envs.core.budget import Budget
from ragen_starpo.algorithms.registry import ESTIMATORS
from ragen_starpo.cli import main
from ragen_starpo.credit.continuations import Continuations, find_truth
from ragen_starpo.credit.estimates import ESTIMATES, compare_estimators, measure, split_error
from ragen_starpo.credit.page import render_page, render_picture
from ragen_starpo.credit.turns import ENSEMBLE, Size, collect_turns
from ragen_starpo.laboratory.games import find_game
from ragen_starpo.laboratory.games.game import State
from ragen_starpo.laboratory.learning import Learner
from ragen_starpo.laboratory.model import StackedModel
from ragen_starpo.laboratory.rollouts import Chances, play
from ragen_starpo.laboratory.run import SHAPE
from ragen_starpo.laboratory.warm_start import WarmStart, warm_start
from ragen_starpo.studies.definition import Task

SMALL = Size(batches=3, groups=3, samples=8, continuations=64, critic_iterations=1)


class TwoSteps:
    """Half of the 40 tokens are worth 0.25 and go on; then a quarter is worth 1.

    With noise, the second step pays double or nothing.
    """

    vocabulary, answer_tokens, slots, noise_count = 40, 1, 4, 2
    budget = Budget(2, 1, 2)

    def __init__(self, is_random):
        self.is_random = is_random

    def start(self, boards, noise):
        over = torch.zeros(boards.shape[:2], dtype=torch.bool)
        return State(boards, over.long(), noise, over.long(), over, over)

    def observe(self, state):
        shape = (*state.over.shape, 1)
        return torch.full(shape, 1), torch.ones(shape, dtype=torch.bool)

    def position(self, state):
        return state.player

    def step(self, state, answer):
        # The model's own frame ends at tokens 3 and 5; the rest are alike.
        good = answer[..., 0] >= (20 if state.turn == 0 else 30)
        pays = 0.25 if state.turn == 0 else 1.0
        if self.is_random and state.turn:
            pays = 2.0 * (state.noise[..., 0] < 0.5)
        reward = torch.where(good & ~state.over, pays, 0.0)
        state.turn += 1
        state.over = state.over | ~good | torch.tensor(state.turn == 2)
        return reward


@pytest.mark.parametrize("is_random", [False, True])
def test_truth_covers_the_exact_values_of_two_steps(is_random):
    game, chances = TwoSteps(is_random), torch.Generator().manual_seed(3)
    model = StackedModel(SHAPE, 40)
    weights = model.make_weights([chances])
    weights["embed"].zero_()  # all tokens have the same probability
    boards = torch.zeros(1, 2, 1, dtype=torch.long)
    drawn = Chances(torch.rand(1, 64, 2), torch.rand(1, 64, 2, 1, generator=chances))
    rollouts = play(model, weights, game, boards, 32, drawn)
    state = game.start(boards.repeat_interleave(32, 1), drawn.noise)
    continuations = Continuations(model, weights, game, 4000, chances)
    truth = find_truth(continuations, rollouts, state, rollouts.groups[0])
    first = rollouts.ids[0, :, 1] >= 20
    exact = torch.full((64, 2), math.nan, dtype=torch.float64)
    exact[:, 0] = torch.where(first, 0.25 + 0.25, 0.0) - 0.25
    exact[first, 1] = torch.where(rollouts.ids[0, first, 3] >= 30, 1.0, 0.0).double() - 0.25
    assert torch.equal(truth.pairs < 0, exact.isnan())
    there = truth.pairs >= 0
    z = (truth.advantages - exact)[there] / (truth.variances[there].sqrt() + 1e-9)
    assert z.abs().max() < 4.5
    assert truth.variances[there].max() < 0.03**2
    exact_values = torch.tensor([0.25, 0.25]).expand(64, 2)[there]
    assert torch.allclose(truth.values[there].float(), exact_values, atol=0.1)


@pytest.fixture(scope="module")
def policy():
    game = find_game(Task("lake", 3))
    weights = StackedModel(SHAPE, game.vocabulary).make_weights([torch.Generator().manual_seed(1)])
    settings = WarmStart(0.5, steps=60)
    model, chances = StackedModel(SHAPE, game.vocabulary), [torch.Generator().manual_seed(2)]
    warm_start(settings, model, weights, game, game.load(200), chances)
    return weights


def test_advantages_of_sampled_answers_have_mean_0(policy):
    size = replace(SMALL, batches=1, groups=6, samples=64, continuations=256)
    task = Task("lake", 3)
    turns = collect_turns(task, policy, size, ESTIMATES)
    first = turns.position == 0
    truth = turns.truth[first].view(6, 64)
    # The error of V is the same for a prompt's rollouts.
    squares = truth.var(1) / 64 + turns.variance[first].view(6, 64).amin(1)
    assert truth.abs().max() > 0.01
    assert abs(truth.mean()) < 4 * squares.sum().sqrt() / 6 + 1e-6


def test_estimates_are_those_of_the_registered_functions(policy, monkeypatch):
    called = []
    for name in {one.estimator for one in ESTIMATES.values()}:
        estimator = ESTIMATORS.find(name)

        def function(*, _of=estimator, **inputs):
            called.append(_of.name)
            return _of.function(**inputs)

        function.__signature__ = __import__("inspect").signature(estimator.function)
        monkeypatch.setitem(ESTIMATORS._algorithms, name, replace(estimator, function=function))
    turns = collect_turns(Task("lake", 3), policy, SMALL, ESTIMATES)
    assert set(called) == {one.estimator for one in ESTIMATES.values()}
    assert list(turns.estimates) == list(ESTIMATES)


def test_an_ensemble_has_the_mean_of_critics_that_differ(policy, monkeypatch):
    """A single critic of all rollouts is what it would be without an ensemble next to it."""
    alone = {name: one for name, one in ESTIMATES.items() if one.ensemble == 1}
    full = collect_turns(Task("lake", 3), policy, SMALL, ESTIMATES)
    single = collect_turns(Task("lake", 3), policy, SMALL, alone)
    for name in alone:
        assert torch.equal(full.estimates[name], single.estimates[name]), name
    names = ("gae, credit turn", "gae, credit turn, lam 0.9")
    for name in names:
        of_several = full.estimates[f"{name}, {ENSEMBLE} critics"]
        assert not torch.allclose(full.estimates[name], of_several, atol=1e-3)

    def find_values(critic, rollouts):
        shape = rollouts.mask.shape
        values = torch.linspace(0, 1, shape[-1]).expand(shape)
        return values + torch.linspace(-2, 2, shape[0])[:, None, None] if shape[0] > 1 else values

    monkeypatch.setattr(Learner, "find_values", find_values)
    turns = collect_turns(Task("lake", 3), policy, SMALL, ESTIMATES)
    for name in names:
        of_several = turns.estimates[f"{name}, {ENSEMBLE} critics"]
        assert torch.allclose(turns.estimates[name], of_several, atol=1e-5)


def test_critics_do_not_depend_on_the_order_of_estimates(policy):
    names = ("gae, credit turn", "bi-level-gae, gamma_turn 1, lam 0.5", "gae, credit turn, lam 0.9")
    size = replace(SMALL, batches=1, continuations=2)
    first, last = (
        collect_turns(Task("lake", 3), policy, size, {name: ESTIMATES[name] for name in order})
        for order in (names, names[::-1])
    )
    for name in names:
        assert torch.equal(first.estimates[name], last.estimates[name]), name


def test_the_published_page_is_that_of_its_numbers_and_its_commands_name_all_options():
    folder = Path("docs/results")
    content = json.loads((folder / "credit.json").read_text())
    assert render_page(content) == (folder / "credit.md").read_text()
    assert render_picture(content) == (folder / "credit.svg").read_text()
    one, other = content["policies"][:2]
    one["task"]["skill"], one["policy_seed"] = 0.5, 7
    other["task"]["skill"], other["iterations"] = 0.4, 0
    content["policies"] = [one, other]
    content["size"] |= {"batches": 2, "critic_iterations": 3, "seed": 5}
    commands = [line for line in render_page(content).split("\n") if line.startswith("$ ")]
    assert commands == [
        "$ ragen-train credit lake-3 --skill 0.5 --seed 7 --save lake-3-skill-0.5-seed-7-at-0",
        "$ ragen-train credit lake-3 --skill 0.4 --save lake-3-skill-0.4-at-0",
        "$ ragen-train credit lake-3-skill-0.5-seed-7-at-0 lake-3-skill-0.4-at-0 --batches 2 "
        "--critic-iterations 3 --seed 5 --page .",
    ]


def test_negative_correlations_are_drawn_left_of_0():
    names = {"bad": -1.0, "none": 0.0, "good": 1.0}
    estimates = {name: {"all": {"spearman": value}} for name, value in names.items()}
    picture = render_picture({"policies": [{"name": "Lake", "estimates": estimates}]})
    x = [float(each) for each in re.findall(r'cx="([0-9.]+)"', picture)]
    assert x[1] - x[0] == x[2] - x[1] == 95
    assert f"M{x[1]} 20V" in picture


def test_equal_seeds_give_equal_results(policy):
    first, again, other = (
        compare_estimators(Task("lake", 3), policy, replace(SMALL, seed=seed)) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_the_truth_itself_has_no_error_and_its_negative_all_signs_wrong(policy):
    turns = collect_turns(Task("lake", 3), policy, SMALL, ESTIMATES)
    every = turns.pair >= 0
    exact = replace(turns, variance=torch.zeros_like(turns.variance))
    found = measure(3 * turns.truth, exact, every)
    assert found["rmse"] == pytest.approx(0, abs=1e-6)
    assert (found["spearman"], found["wrong_sign"]) == (pytest.approx(1), 0)
    assert measure(-turns.truth, exact, every)["wrong_sign"] == 1


def test_split_error_finds_what_batches_share():
    chances = torch.Generator().manual_seed(0)
    pair = torch.arange(400).repeat(20)
    batch = torch.arange(20).repeat_interleave(400)
    shared = 0.3 * torch.randn(400, generator=chances)[pair]
    error = shared + 0.5 * torch.randn(8000, generator=chances)
    bias, deviation = split_error(error.double(), torch.zeros(8000), pair, batch)
    assert bias == pytest.approx(0.3, abs=0.03)
    assert deviation == pytest.approx(0.5, abs=0.03)
    assert split_error(error[:400].double(), torch.zeros(400), pair[:400], batch[:400]) == (
        None,
        None,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lake-5"], "lake-5"),
        ([], "POLICY"),
        (["lake-3", "--skill", "0.9"], "skill"),
        (["sokoban-6", "--slip", "0.1"], "slip is for the lake"),
        (["lake-3", "--samples", "1"], "--samples must be at least 2, got 1"),
        (["lake-3", "sokoban-6", "--save", "out"], "--save is for a single policy"),
        (["."], "policy.json"),
        ([".", "--iterations", "3"], "remove --skill, --iterations"),
        ([".", "--skill", "0.3"], "remove --skill, --iterations"),
        (["mastermind"], "mastermind has no true advantages here"),
        (["secret"], "mastermind has no true advantages here"),
        (["lake-3", "--save", "damaged"], "damaged has a policy already"),
        (["lake-3", "--slip", "0.0004"], "slip is 0, or from 0.001 to 0.999, got 0.0004"),
        (["damaged"], "damaged is not a policy that --save wrote"),
        (["piped"], "policy.safetensors is not a regular file"),
    ],
)
def test_mistakes_are_one_line(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    facts = {"task": {"game": "lake", "size": 3}, "iterations": 0, "policy_seed": 0, "success": 0}
    for name in ("damaged", "piped", "secret"):
        facts["task"] |= {"game": "mastermind", "size": 0} if name == "secret" else {}
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.json").write_text(json.dumps(facts))
    os.mkfifo(tmp_path / "piped" / "policy.safetensors")
    (tmp_path / "damaged" / "policy.safetensors").write_bytes(b"no weights")
    assert main(["credit", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("ragen-train: ")
    assert said in err
    assert err.count("\n") == 1
