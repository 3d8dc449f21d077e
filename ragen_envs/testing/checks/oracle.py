"""The check that the oracle scores what the environment states as the best expected score."""

from __future__ import annotations

import math

from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_game import ResetOptions
from ragen_envs.testing.checks import check
from ragen_envs.testing.failure import EnvironmentRaised, fail, lacks
from ragen_envs.testing.player import LONGEST, Player, finish, oracles, turns_of
from ragen_envs.testing.subject import Subject

FALSE_ALARM = 1e-6
"""Odds that a right oracle of a stochastic environment fails the check."""
_TOLERANCE = 1e-9
"""Difference between two sums of the same floats."""


@check
def check_oracle_reaches_ceiling(subject: Subject) -> None:
    """The oracle scores its ceiling: exactly, or in the mean where there is noise."""
    if subject.oracle is None:
        lacks("oracle", "the best player, from the environment to its answer")
    if subject.stochastic:
        _check_mean(subject)
        return
    for seed in subject.seeds:
        score, ceiling = _run_oracle(subject, seed, None)
        if not abs(score - ceiling) <= _TOLERANCE:
            _fail_oracle(
                f"seed {seed}: the oracle scored {score:g} where the ceiling is {ceiling:g}",
                " If there is noise, set stochastic=True.",
            )


def _check_mean(subject: Subject) -> None:
    low, high = subject.score_range
    scores, ceilings = [], []
    for i in range(subject.oracle_episodes):  # independent ones
        seed, options = i, None
        if subject.noise_options:
            rollout, which = divmod(i, len(subject.seeds))
            seed, options = subject.seeds[which], subject.noise_options(rollout)
        score, ceiling = _run_oracle(subject, seed, options)
        for name, value in (("score", score), ("ceiling", ceiling)):
            if not low <= value <= high:
                fail(
                    f"seed {seed}: the {name} {value:g} lies outside {low:g} to {high:g}",
                    "the option 'score_range' was not set, or the score is a sum of rewards.",
                    "set score_range=(least, greatest), or report info['score'] in [0, 1].",
                )
        scores.append((score - low) / (high - low))
        ceilings.append((ceiling - low) / (high - low))
    mean, expected = sum_in_order(scores) / len(scores), sum_in_order(ceilings) / len(ceilings)
    if tail(len(scores), mean, expected) < FALSE_ALARM / 2:
        _fail_oracle(
            f"the oracle's mean score in {len(scores)} episodes is {low + mean * (high - low):.4f} "
            f"where the mean ceiling is {low + expected * (high - low):.4f}",
            f" Chance alone does this with odds below {FALSE_ALARM:g}.",
        )


def _fail_oracle(seen: str, also: str) -> None:
    fail(
        seen + ("." + also if also else ""),
        "the ceiling ignores the turn budget or the noise, the oracle plans for the state at "
        "reset, or its answer is not in form.",
        "compute both by the same dynamic programming over state and turns left.",
    )


def _run_oracle(subject: Subject, seed: int, options: ResetOptions | None) -> tuple[float, float]:
    """Return the oracle's score in an episode, and its optimal score."""
    (choose,) = oracles(subject)
    with Player(subject.make_env) as player:
        player.reset(seed, options)
        ceiling = player.call(
            f"seed {seed}: the option 'ceiling'",
            lambda: subject.expected_score(player.env, player.info),
        )
        try:
            episode = finish(subject, player, choose)
        except EnvironmentRaised as raised:
            _fail_oracle(str(raised), "")
        if not player.ended and turns_of(subject, player.env) is None:
            lacks("max_turns", f"the oracle's episode of seed {seed} goes on after {LONGEST} turns")
        return subject.score_of(episode), ceiling


def tail(count: int, mean: float, expected: float) -> float:
    """Return a bound on the odds that a mean of scores lies as far off to the same side.

    Hoeffding 1963, theorem 1: for independent scores in [0, 1], not necessarily alike, with the
    given mean of expectations, it is exp(-count * KL(mean || expected)).
    """
    divergence = 0.0
    for p, q in ((mean, expected), (1 - mean, 1 - expected)):
        if p > _TOLERANCE:
            if q <= 0:
                return 0.0
            divergence += p * math.log(p / q)
    return math.exp(-count * max(divergence, 0.0))
