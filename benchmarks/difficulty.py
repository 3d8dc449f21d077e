"""Whether 42 or 64 chosen instances give the score of all 256: an item response model, tried.

Each game's test split is played by families of players of many skills. A model with a difficulty
and a discrimination for each instance is fitted to all families but one, and to no recorded player.
The players left out are then scored from N instances that the model chooses one by one.

The rule was fixed before the run. Choosing is worth an option if, for the players left out and
N = 64, the estimate lies within the 95 % interval of all instances in at least 95 % of the cases,
and its root mean squared error is at most 0.7 times that of the first 64 instances.

Sources: 2PL (Birnbaum 1968, in Lord and Novick, Statistical Theories of Mental Test Scores);
choice by Fisher information (Lord 1980, Applications of Item Response Theory, chapter 10).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ragen_bench.environments import step_by_rule
from ragen_bench.run import Run
from ragen_bench.statistics import wilson
from ragen_bench.suites import make_text_env
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.core.tools import answer_with

GAMES = tuple(
    f"ragen/{g}-v0" for g in ("Sokoban", "FrozenLake", "Mastermind", "Minesweeper", "Cube")
)
COUNTS = (42, 64)
ABILITIES = np.linspace(-5, 5, 201)
Scores = NDArray[np.float64]
Act = Callable[[AnyTextEnv, RandomStream, int], str]


class Player(NamedTuple):
    """A player, and the family that is left out together."""

    family: str
    name: str
    act: Act


def mixed(skill: float) -> Act:
    """Return a player whose turn is the oracle's with probability `skill`, else random."""

    def act(env: AnyTextEnv, stream: RandomStream, _turn: int) -> str:
        knows = stream.below(1000) < 1000 * skill
        return oracle_answer(env) if knows else random_answer(env, stream)

    return act


def tiring(turns: int, skill: float) -> Act:
    """Return a player that is as skilled as the oracle for some turns, and less after them."""
    later = mixed(skill)

    def act(env: AnyTextEnv, stream: RandomStream, turn: int) -> str:
        return oracle_answer(env) if turn < turns else later(env, stream, turn)

    return act


def late(turns: int, skill: float) -> Act:
    """Return a player that is less skilled at first."""
    first = mixed(skill)

    def act(env: AnyTextEnv, stream: RandomStream, turn: int) -> str:
        return oracle_answer(env) if turn >= turns else first(env, stream, turn)

    return act


def partial_plan(actions: int, skill: float) -> Act:
    """Return a player that names the first actions of the best turn and then random ones."""

    def act(env: AnyTextEnv, stream: RandomStream, _turn: int) -> str:
        best, legal = list(env.best_actions()), env.legal_actions
        if stream.below(1000) >= 1000 * skill:
            best = best[:actions]
        rest = env.actions_this_turn - len(best) if len(best) <= actions else 0
        return answer_with(env, best + [legal[stream.below(len(legal))] for _ in range(rest)])

    return act


def biased(favourite: int, skill: float) -> Act:
    """Return a player whose errors are always the same legal action."""

    def act(env: AnyTextEnv, stream: RandomStream, _turn: int) -> str:
        if stream.below(1000) < 1000 * skill:
            return oracle_answer(env)
        legal = env.legal_actions
        return answer_with(env, [legal[favourite % len(legal)]])

    return act


SKILLS = (0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 0.97)
PLAYERS = [
    *(Player("mixed", f"mixed {s}", mixed(s)) for s in (0.0, *SKILLS, 1.0)),
    *(Player("tiring", f"tiring {n} {s}", tiring(n, s)) for n in (1, 2, 3) for s in SKILLS[1:5]),
    *(Player("late", f"late {n} {s}", late(n, s)) for n in (1, 2) for s in SKILLS[1:6]),
    *(Player("plan", f"plan {n} {s}", partial_plan(n, s)) for n in (1, 2, 3) for s in SKILLS[:5]),
    *(Player("biased", f"biased {n} {s}", biased(n, s)) for n in (0, 1) for s in SKILLS[1:6]),
]


def play(game: str, player: Player, seeds: int) -> Scores:
    """Return (seeds,) 1 where the player solves an instance of the test split in one episode."""
    env = make_text_env(game, "test", "plain")
    solved = np.zeros(seeds)
    for seed in range(seeds):
        env.reset(seed=seed)
        stream = RandomStream("difficulty", game, player.name, seed)
        turn = 0
        info: Info = {}
        while env.legal_actions:
            *_, info = step_by_rule(env, player.act(env, stream, turn))
            turn += 1
        solved[seed] = float(bool(info["success"]))
    return solved


class Items(NamedTuple):
    """A fitted 2PL model: P(solved) = sigmoid(discrimination * (ability - difficulty))."""

    difficulty: Scores
    discrimination: Scores

    def chances(self, ability: float | Scores) -> Scores:
        """Return (..., items) the chances to solve each item."""
        distance = np.asarray(ability)[..., None] - self.difficulty
        return np.asarray(1 / (1 + np.exp(-self.discrimination * distance)))


def fit(solved: Scores) -> Items:
    """Return the items of (players, items) outcomes, by the mode of the joint posterior.

    Priors: ability N(0, 1.5), difficulty N(0, 2), logarithm of discrimination N(0, 0.5).
    """
    data = torch.tensor(solved)
    players, items = data.shape
    ability = torch.zeros(players, dtype=torch.float64, requires_grad=True)
    difficulty = torch.zeros(items, dtype=torch.float64, requires_grad=True)
    log_slope = torch.zeros(items, dtype=torch.float64, requires_grad=True)
    solver = torch.optim.LBFGS([ability, difficulty, log_slope], max_iter=500, history_size=20)

    def loss() -> torch.Tensor:
        solver.zero_grad()
        logits = log_slope.exp() * (ability[:, None] - difficulty)
        prior = (ability / 1.5) ** 2
        total = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, data, reduction="sum"
        ) + 0.5 * (prior.sum() + (difficulty / 2) ** 2 @ torch.ones_like(difficulty))
        total = total + 0.5 * ((log_slope / 0.5) ** 2).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    solver.step(loss)  # type: ignore[no-untyped-call]
    return Items(difficulty.detach().numpy(), log_slope.detach().exp().numpy())


def posterior(items: Items, places: list[int], solved: Scores) -> Scores:
    """Return the posterior of a player's ability on the grid, after some of its outcomes."""
    chances = items.chances(ABILITIES)[:, places]
    outcomes = solved[places]
    logs = np.log(np.where(outcomes > 0.5, chances, 1 - chances) + 1e-12).sum(1)
    logs -= (ABILITIES / 1.5) ** 2 / 2
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def choose(items: Items, solved: Scores, count: int) -> tuple[float, float]:
    """Return a player's score estimated from `count` chosen instances, and its stated error."""
    places: list[int] = []
    weights = posterior(items, places, solved)
    for _ in range(count):
        chances = items.chances(float(weights @ ABILITIES))
        information = items.discrimination**2 * chances * (1 - chances)
        information[places] = -1
        places.append(int(information.argmax()))
        weights = posterior(items, places, solved)
    rest = np.delete(items.chances(ABILITIES), places, axis=1)
    sums = solved[places].sum() + rest.sum(1)
    estimate = weights @ sums
    inner = weights @ (rest * (1 - rest)).sum(1) + weights @ (sums - estimate) ** 2
    return float(estimate / len(solved)), float(np.sqrt(inner) / len(solved))


class Case(NamedTuple):
    """A player that was left out, with its estimate from some instances."""

    game: str
    family: str
    player: str
    instances: int
    full: float
    within: bool
    chosen: float
    stated: float
    first: float


def judge(game: str, matrix: dict[str, tuple[str, Scores]]) -> list[Case]:
    """Return the cases of a game, each family left out in turn; matrix is family and outcomes."""
    cases = []
    for left_out in sorted({family for family, _ in matrix.values()}):
        known = [s for family, s in matrix.values() if family not in (left_out, "recorded")]
        items = fit(np.array(known))
        for name, (family, solved) in matrix.items():
            if family != left_out:
                continue
            low, high = wilson(int(solved.sum()), len(solved))
            for count in COUNTS:
                chosen, stated = choose(items, solved, count)
                within = low <= chosen <= high
                first = float(solved[:count].mean())
                full = float(solved.mean())
                cases.append(Case(game, family, name, count, full, within, chosen, stated, first))
    return cases


def read_recorded(folder: Path, seeds: int) -> dict[str, Scores]:
    """Return the outcomes of a run's first samples by game, where it has all instances."""
    found: dict[str, dict[int, float]] = {}
    for episode in Run(folder).episodes:
        if episode.sample == 0:
            outcome = float(bool(episode.success))
            found.setdefault(episode.env, {})[episode.index] = outcome
    return {
        game: np.array([outcomes[seed] for seed in range(seeds)])
        for game, outcomes in found.items()
        if set(outcomes) >= set(range(seeds))
    }


def describe(cases: list[Case]) -> list[dict[str, object]]:
    """Return the table of the page: by game or all, by kind of player and number of instances."""
    rows = []
    kinds = [("recorded", True), ("families", False)]
    for game in (*GAMES, "all"):
        for kind, recorded in kinds:
            for count in COUNTS:
                part = [
                    case
                    for case in cases
                    if game in (case.game, "all")
                    and case.instances == count
                    and (case.family == "recorded") == recorded
                ]
                if part:
                    rows.append({"game": game, "players": kind, "instances": count, **errors(part)})
    return rows


def errors(cases: list[Case]) -> dict[str, float]:
    """Return the errors of some cases, in points, and the share within the full interval."""
    chosen = np.array([case.chosen - case.full for case in cases])
    first = np.array([case.first - case.full for case in cases])
    stated = np.array([case.stated for case in cases])
    return {
        "cases": len(cases),
        "within": round(100 * float(np.mean([case.within for case in cases])), 1),
        "chosen": round(100 * float(np.sqrt((chosen**2).mean())), 2),
        "first": round(100 * float(np.sqrt((first**2).mean())), 2),
        "covered": round(100 * float((np.abs(chosen) <= 1.96 * stated).mean()), 1),
    }


def main() -> None:
    """Play, fit, judge and print the table as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="*", default=[], help="runs on the test split")
    parser.add_argument("--instances", type=int, default=256)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    cases: list[Case] = []
    for game in GAMES:
        matrix = {}
        for player in PLAYERS:
            matrix[player.name] = (player.family, play(game, player, options.instances))
        for folder in options.runs:
            if game in (recorded := read_recorded(folder, options.instances)):
                matrix[folder.name] = ("recorded", recorded[game])
        cases += judge(game, matrix)
        print(game, json.dumps(describe(cases)[-4:]), flush=True)
    rows = describe(cases)
    content = {"rows": rows, "cases": [case._asdict() for case in cases]}
    options.out.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
