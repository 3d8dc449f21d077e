"""Measures of the thoughts in a run's turns."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from ragen_bench.analysis.arithmetic import claims_of_arithmetic
from ragen_bench.analysis.claims import claims_of
from ragen_bench.analysis.diversity import measure_diversity
from ragen_bench.analysis.elsewhere import TruthElsewhere
from ragen_bench.analysis.plans import is_followed, read_plan
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.schema import TurnRecord
from ragen_envs.core.failures import FailureLabeler
from ragen_envs.core.tool_calls import thought_before

_BEGIN, _END = "<think>", "</think>"


def read_thought(turn: TurnRecord) -> str:
    """Return the model's thought: its recorded reasoning and the content of its think tags.

    An unclosed think block extends to the end of the response. In a response with tool calls, the
    text before the first call is the thought.
    """
    _, opened, rest = turn.answer.partition(_BEGIN)
    inside = rest.partition(_END)[0] if opened else thought_before(turn.answer)
    return "\n".join(filter(None, (turn.reasoning.strip(), inside.strip())))


class Reasoning:
    """Collects the measures of one environment's episodes.

    Args:
        labeler: The failure labeler of the environment.
    """

    def __init__(self, labeler: FailureLabeler) -> None:
        self._labeler = labeler
        self._turns = self._cut = 0
        self._words: list[int] = []
        self._characters = 0
        self._plans = {"agree": 0, "differ": 0, "no_plan": 0}
        self._claims = {"true": 0, "false": 0, "unread": 0}
        self._elsewhere = TruthElsewhere()
        self._first: dict[int, str] = {}

    def add(self, episode: ReplayedEpisode) -> None:
        """Count the turns of an episode."""
        for step in episode.steps:
            self._turns += 1
            self._cut += step.turn.finish == "length"
            thought = read_thought(step.turn)
            if thought:
                self._words.append(len(thought.split()))
                self._characters += len(thought)
                self._add_plan(thought, episode, step)
                self._add_claims(thought, episode, step)
                self._elsewhere.add_thought(episode.record.index, step.number, thought)
        # Only first samples: differences between samples of one instance are noise.
        if episode.record.sample == 0 and episode.steps:
            boards = [self._labeler.build_scene(episode, step.before) for step in episode.steps]
            self._elsewhere.add_boards(episode.record.index, [b for b in boards if b])
            first = read_thought(episode.steps[0].turn)
            if first:
                self._first[episode.record.index] = first

    def measures(self) -> JsonObject:
        """Return the measures as JSON values; None for those without data."""
        plans = self._plans["agree"] + self._plans["differ"]
        elsewhere = self._elsewhere.count_claims()
        words = sum(self._words)
        return {
            "turns": self._turns,
            "thoughts": len(self._words),
            "words_mean": _fraction(words, len(self._words)),
            "words_median": median(self._words) if self._words else None,
            "characters_mean": _fraction(self._characters, len(self._words)),
            "cut": self._cut,
            "cut_share": _fraction(self._cut, self._turns),
            "plans": {**self._plans, "agreement": _fraction(self._plans["agree"], plans)},
            "claims": {
                **self._claims,
                "truth": _truth(self._claims),
                "elsewhere": {**elsewhere, "truth": _truth(elsewhere)},
            },
            "diversity": measure_diversity([self._first[index] for index in sorted(self._first)]),
        }

    def _add_plan(self, thought: str, episode: ReplayedEpisode, step: ReplayedTurn) -> None:
        actions, names = step.turn.actions, self._labeler.list_actions(episode)
        if not actions or not names:  # nothing to compare a plan with
            return
        plan = read_plan(thought, names, episode.env.budget.max_actions_per_turn)
        if not plan:
            self._plans["no_plan"] += 1
        else:
            self._plans["agree" if is_followed(plan, actions) else "differ"] += 1

    def _add_claims(self, thought: str, episode: ReplayedEpisode, step: ReplayedTurn) -> None:
        if self._labeler.reads_arithmetic:
            claims = claims_of_arithmetic(thought)
        else:
            scene = self._labeler.build_scene(episode, step.before)
            if scene is None:
                return
            claims = claims_of(thought, scene)
        for claim in claims.read:
            self._claims["true" if claim.true else "false"] += 1
        self._claims["unread"] += claims.unread


def _fraction(part: float, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _truth(claims: Mapping[str, int]) -> float | None:
    return _fraction(claims["true"], claims["true"] + claims["false"])
