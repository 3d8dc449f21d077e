"""Reward shaping: terms added to an environment's reward, each a function of a turn.

Rewards of results alone hardly keep a model reasoning (RAGEN, arXiv 2504.20073, which asks for ones
that look at the thoughts). The terms of thoughts here see what `ragen-bench analyse` sees:
`ragen_bench.analysis` reads plans and claims for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragen_bench.analysis.claims import claims_of
from ragen_bench.analysis.labelers import find_labeler
from ragen_bench.analysis.plans import agree, plan_of
from ragen_bench.analysis.reasoning import thought_of_turn
from ragen_bench.episodes.episode import Episode
from ragen_bench.runs.schema import TurnRecord
from ragen_envs.core.failures import FinishedEpisode
from ragen_envs.core.scene import Scene
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.recipes.sections import ShapingSettings
from ragen_starpo.rollout.own_reward import OwnReward


def reward_of(
    weights: ShapingSettings, episode: Episode, own: OwnReward | None = None
) -> Callable[[TurnRecord], float]:
    """Return the function from a recorded turn to the reward that is learned.

    Args:
        weights: of the terms; where all are 0, it is the environment's reward.
        episode: whose turns these will be, just begun. The function is called after each of its
            turns, once and in order: what a thought claims is compared with where things stood
            before the turn.
        own: a term of the user's own.
    """
    thoughts = _Thoughts(weights, episode) if weights.reads_thoughts else None
    earned = own.of(episode) if own else None

    def reward(turn: TurnRecord) -> float:
        total = turn.reward
        for weight, term in (
            (weights.format_penalty, broken_format),
            (weights.turn_cost, each_turn),
        ):
            if weight:
                total -= weight * term(turn)
        total = total + thoughts.reward(turn) if thoughts else total
        return total + earned(turn) if earned else total

    return reward


def broken_format(turn: TurnRecord) -> float:
    """Return 1 for an answer that was not in form, which environments punish a little already."""
    return 0.0 if turn.format_is_valid else 1.0


def each_turn(_: TurnRecord) -> float:
    """Return 1: a turn is a turn."""
    return 1.0


def plan_agreement(turn: TurnRecord, actions: Sequence[str], most: int) -> float:
    """Return 1 where the thought's plan and the answer agree, and -1 where they differ.

    They agree if they are equal as far as the shorter one goes. Without a plan, or without an
    action in a valid answer, it is 0.

    Args:
        turn: as recorded.
        actions: the names of the game's actions.
        most: actions that an answer may hold.
    """
    if not turn.actions:
        return 0.0
    plan = plan_of(thought_of_turn(turn), actions, most)
    if not plan:
        return 0.0
    return 1.0 if agree(plan, turn.actions) else -1.0


def true_claims(turn: TurnRecord, scene: Scene | None) -> float:
    """Return how far the thought is right about where things are, from -1 to 1; 0 if it is silent.

    It is the mean over the pairs of things that are claimed to stand somewhere to each other: 1 if
    all that is said of the pair is true, else -1. So nothing is gained by saying it again, and a
    false claim is not made up for by repeating a true one. To deny something is easily true, as
    "the box is not nine squares above me", so a true denial adds nothing; a false one counts.

    Args:
        turn: as recorded.
        scene: where things stood before the turn; None in a game without a board.
    """
    if scene is None or not turn.format_is_valid:
        return 0.0
    pairs: dict[frozenset[str], bool] = {}
    for claim in claims_of(thought_of_turn(turn), scene).read:
        if claim.true and claim.denies:
            continue
        pair = frozenset((claim.thing, claim.other))
        pairs[pair] = pairs.get(pair, True) and claim.true
    return sum_in_order(1.0 if true else -1.0 for true in pairs.values()) / max(1, len(pairs))


class _Thoughts:
    """The terms that read thoughts, over the turns of an episode."""

    def __init__(self, weights: ShapingSettings, episode: Episode) -> None:
        self._weights, self._episode = weights, episode
        self._labeler = find_labeler(episode.task.env)
        instance = episode.env.get_instance(episode.task.index)
        self._whole = FinishedEpisode(env=episode.env, instance=instance, steps=(), outcome="")
        self._before = self._labeler.read_state(episode.env)

    def reward(self, turn: TurnRecord) -> float:
        before, self._before = self._before, self._labeler.read_state(self._episode.env)
        total = 0.0
        if self._weights.plan_agreement:
            most = self._episode.env.budget.max_actions_per_turn
            names = self._labeler.list_actions(self._whole)
            total += self._weights.plan_agreement * plan_agreement(turn, names, most)
        if self._weights.true_claims:
            scene = self._labeler.build_scene(self._whole, before)
            total += self._weights.true_claims * true_claims(turn, scene)
        return total
