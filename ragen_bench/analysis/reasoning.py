"""Measures of the thoughts in a run's turns."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from ragen_bench.analysis.claims import Claim, Claims, claims_of, split_sentences
from ragen_bench.analysis.plans import is_followed, read_plan
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.schema import TurnRecord
from ragen_envs.core.failures import FailureLabeler
from ragen_envs.core.scene import Scene
from ragen_envs.core.tool_calls import thought_before
from ragen_envs.games.countdown.expressions import expression_of, plain

_BEGIN, _END = "<think>", "</think>"
# One character class, so that matching takes linear time.
_RUN = re.compile(r"[-0-9+*/()=. \u00d7\u00b7\u22c5\u00f7\u2212\u2013]+")


def read_thought(turn: TurnRecord) -> str:
    """Return the model's thought: its recorded reasoning and the content of its think tags.

    An unclosed think block extends to the end of the response. In a response with tool calls, the
    text before the first call is the thought.
    """
    _, opened, rest = turn.answer.partition(_BEGIN)
    inside = rest.partition(_END)[0] if opened else thought_before(turn.answer)
    return "\n".join(filter(None, (turn.reasoning.strip(), inside.strip())))


def claims_of_arithmetic(thought: str) -> Claims:
    """Return the arithmetic claims of a thought, such as "3 * 8 = 24", and whether they are true.

    A chain "3 * 8 = 24 = 20 + 4" has two claims. An equality with another side, such as a decimal
    number, is counted as unread. `7 = 7` is not counted as a claim. A division by zero equals
    nothing.
    """
    read: list[Claim] = []
    unread = 0
    for sentence in split_sentences(thought):
        for run in _RUN.findall(sentence):
            sides = [side.strip(" .") for side in run.split("=")]
            for left, right in pairwise(sides):
                if not left or not right:
                    continue
                one, other = expression_of(plain(left)), expression_of(plain(right))
                if one is None or other is None:
                    unread += 1
                elif len(one.numbers) + len(other.numbers) > 2:
                    is_true = one.value is not None and one.value == other.value
                    read.append(Claim(f"{left} = {right}", left, right, is_true))
    return Claims(tuple(read), unread)


def measure_diversity(thoughts: Sequence[str]) -> JsonObject | None:
    """Return measures of thoughts on different instances; None for fewer than two.

    `compression` is the zlib compression ratio, higher for more repetitive texts (Shaib et al.
    2024, arXiv 2403.00553, section 3); it grows with the number of thoughts, so compare it at equal
    numbers. `distinct` is the fraction of distinct n-grams of words for n = 1, 2, 3 (Li et al.
    2016, arXiv 1510.03055, section 5). `repeated` is the fraction of thoughts that another
    instance has word for word.
    """
    if len(thoughts) < 2:
        return None
    counts = Counter(thoughts)
    return {
        "thoughts": len(thoughts),
        "compression": round(compression_ratio(thoughts), 3),
        "distinct": [distinct_fraction(thoughts, n) for n in (1, 2, 3)],
        "repeated": round(sum(n for n in counts.values() if n > 1) / len(thoughts), 6),
    }


def compression_ratio(texts: Sequence[str]) -> float:
    """Return the bytes of the joined texts over their bytes after zlib level 9."""
    joined = "\n".join(texts).encode("utf-8", "surrogatepass")
    return len(joined) / len(zlib.compress(joined, 9))


def distinct_fraction(texts: Sequence[str], n: int) -> float | None:
    """Return the fraction of distinct n-grams of words within texts, rounded; None without any."""
    grams: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = text.lower().split()
        grams.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    return _fraction(len(grams), grams.total())


class TruthElsewhere:
    """Truth of a run's claims on another instance's board, as a baseline.

    "The goal is above me" is true of many boards, "the goal is two rows above me" of few. A model
    that is rewarded for true claims may learn to make vague ones, so truth alone does not show that
    it reads its board.
    """

    def __init__(self) -> None:
        self._thoughts: list[tuple[int, int, str]] = []
        self._boards: dict[int, list[Scene]] = {}

    def add_boards(self, index: int, boards: list[Scene]) -> None:
        """Add the boards before each turn of an instance's first sample; empty without boards."""
        if boards:
            self._boards[index] = boards

    def add_thought(self, index: int, turn: int, thought: str) -> None:
        """Add a thought of any sample of an instance; turns are numbered from 1."""
        self._thoughts.append((index, turn, thought))

    def count_claims(self) -> dict[str, int]:
        """Return the numbers of claims that are "true" and "false" on the next instance's board.

        The last instance is followed by the first. The board is from the same turn, or from the
        last turn of a shorter game. Unread claims are omitted; with a single instance, all are.
        """
        indices = sorted(self._boards)
        following = dict(zip(indices, indices[1:] + indices[:1], strict=True))
        counts = {"true": 0, "false": 0}
        for index, turn, thought in self._thoughts:
            other = following.get(index, index)
            if other != index:
                boards = self._boards[other]
                for claim in claims_of(thought, boards[min(turn, len(boards)) - 1]).read:
                    counts["true" if claim.true else "false"] += 1
        return counts


class Reasoning:
    """Collects the measures of the thoughts in one environment's episodes."""

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
                names = self._labeler.list_actions(episode)
                if step.turn.actions and names:
                    plan = read_plan(thought, names, episode.env.budget.max_actions_per_turn)
                    agrees = "agree" if is_followed(plan, step.turn.actions) else "differ"
                    self._plans[agrees if plan else "no_plan"] += 1
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
