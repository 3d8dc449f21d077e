"""Reward shaping: terms added to an environment's reward, each a function of a turn.

Rewards of outcomes alone hardly keep a model reasoning (RAGEN, arXiv 2504.20073, which asks for
rewards that look at thoughts). The terms of thoughts here read plans and claims by
`ragen_bench.analysis`, as `ragen-bench analyse` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragen_bench.analysis.claims import claims_of
from ragen_bench.analysis.failures import find_labeler
from ragen_bench.analysis.plans import is_followed, read_plan
from ragen_bench.analysis.reasoning import read_thought
from ragen_bench.episodes.episode import Episode
from ragen_bench.runs.schema import TurnRecord
from ragen_envs.core.failures import FinishedEpisode
from ragen_envs.core.scene import Scene
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.recipes.sections import ShapingSettings
from ragen_starpo.rollout.own_reward import OwnReward


def make_reward(
    weights: ShapingSettings, episode: Episode, own: OwnReward | None = None, max_tokens: int = 0
) -> Callable[[TurnRecord], float]:
    """Return the function from a recorded turn to its training reward.

    It must be called after each turn of an episode that has just begun, once and in order,
    since claims are compared with the state before the turn. With all weights 0 it is the
    environment's reward. `max_tokens` are those of a response, for the penalty of long ones.
    """
    thoughts = _Thoughts(weights, episode) if weights.reads_thoughts else None
    own_reward = own.for_episode(episode) if own else None

    def reward(turn: TurnRecord) -> float:
        total = turn.reward
        # Environments penalise an invalid format a little already.
        if not turn.format_is_valid:
            total -= weights.format_penalty
        total -= weights.turn_cost
        if weights.overlong_buffer:
            total -= overlong_penalty(weights, turn.completion_tokens, max_tokens)
        total = total + thoughts.reward(turn) if thoughts else total
        return total + own_reward(turn) if own_reward else total

    return reward


def overlong_penalty(weights: ShapingSettings, tokens: int, max_tokens: int) -> float:
    """Return the penalty of a response of so many tokens (DAPO, arXiv 2503.14476, eq. 13).

    It rises linearly over the last `overlong_buffer` tokens, from 0 to `overlong_penalty` at
    `max_tokens`.
    """
    excess = max(0, tokens - (max_tokens - weights.overlong_buffer))
    return weights.overlong_penalty * excess / weights.overlong_buffer


def plan_agreement(turn: TurnRecord, actions: Sequence[str], most: int) -> float:
    """Return 1 if the thought's plan and the response agree, and -1 if they differ.

    They agree if they are equal up to the length of the shorter one. Without a plan, or without
    an action in a valid response, it is 0. `most` is the maximum actions per response.
    """
    if not turn.actions:
        return 0.0
    plan = read_plan(read_thought(turn), actions, most)
    if not plan:
        return 0.0
    return 1.0 if is_followed(plan, turn.actions) else -1.0


def true_claims(turn: TurnRecord, scene: Scene | None) -> float:
    """Return the truth of a thought's claims about places, from -1 to 1; 0 without claims.

    It is the mean over pairs of things: 1 if all claims about a pair are true, else -1.
    Repeated claims therefore gain nothing, and do not make up for a false one. Denials such as
    "the box is not nine squares above me" are easily true, so a true one is not counted, and a
    false one is. `scene` has the places before the turn; None in a game without a board.
    """
    if scene is None or not turn.format_is_valid:
        return 0.0
    pairs: dict[frozenset[str], bool] = {}
    for claim in claims_of(read_thought(turn), scene).read:
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
