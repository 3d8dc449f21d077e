"""The records of a run: run.json, and the lines of episodes.jsonl, timings.jsonl and faults.jsonl.

Pydantic validates records that are read from files, see `ragen_bench.runs.checked`; the harness
makes its own directly. Files may have extra fields: those of run.json are kept, those of lines are
ignored.

Episodes are dataclasses with slots, since pydantic checks them faster than models and they take a
fifth of the memory: metrics are computed over all turns of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal, get_args

from ragen_bench.errors import missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Finish
from ragen_bench.runs.faults import LONGEST_REASON
from ragen_envs.core.drawn import draw_key
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat, ResponseFormat

try:
    from pydantic import BaseModel, ConfigDict, Field, Strict, WrapValidator
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

SCHEMA = 1
Key = tuple[str, str, int, int]
"""Environment, split, index and sample of an episode, unique in its run."""
Outcome = Literal[
    "success", "failure", "ended", "truncated", "invalid_format", "context_overflow", "given_up"
]
"""End of an episode: solved; ended by the rules unsolved, or where success is not reported; by the
budget, with or without a response in a valid format; by the model's context limit; or by a fault of
its server, where these count as failures. All of them count in every metric."""
OnError = Literal["exclude", "fail"]
"""How an episode counts whose server failed: in no metric, until it is played; or as a failure."""
ON_ERROR: tuple[OnError, ...] = get_args(OnError)

LARGEST = 10**15
"""Beyond every number of a run, and small enough for finite sums."""
Text = Annotated[str, Strict()]
Digits = Annotated[Text, Field(max_length=64, pattern="^[0-9a-f]{64}$")]
"""Hex digits of SHA-256, or of 32 random bytes."""
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict(), Field(gt=-LARGEST, lt=LARGEST)]
Count = Annotated[int, Strict(), Field(ge=0, lt=LARGEST)]
Positive = Annotated[int, Strict(), Field(ge=1, lt=LARGEST)]
Index = Annotated[int, Strict(), Field(gt=-(1 << 63), lt=1 << 63)]
"""Index of the instance. In the train split, any non-negative seed."""
Seed = Annotated[int, Strict(), Field(ge=0, lt=1 << 63)]
"""An index that can be played."""
Number = Annotated[float, Strict(), Field(gt=-LARGEST, lt=LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
as_written = WrapValidator(lambda value, check: (check(value), value)[1])
"""Keeps an integer in a `Number` field an integer, so that it is written unchanged."""


class Document(BaseModel):
    """An object of a file, which is written again with the fields that it was read with."""

    model_config = ConfigDict(
        extra="allow", frozen=True, strict=True, validate_by_name=True, protected_namespaces=()
    )

    def as_json(self) -> JsonObject:
        """Return the object as in its file."""
        return self.model_dump(by_alias=True, exclude_unset=True)


Indices = range | tuple[int, ...]
"""Indices of the played instances of a split."""


class RunEnv(Document):
    """An environment of a run: its id, number of instances, and specification hash."""

    id: Text
    instances: Whole
    spec_hash: Text

    @property
    def played(self) -> Indices:
        """Indices of the played instances: the first ones of the split."""
        return range(self.instances)


class ChosenEnv(RunEnv):
    """An environment of a run that may list the played instances."""

    indices: Annotated[list[Seed], Field(min_length=1)] | None = None

    @property
    def played(self) -> Indices:
        """Indices of the played instances: the listed ones, or the first ones of the split."""
        return super().played if self.indices is None else tuple(self.indices)


class Opponent(Document):
    """The opponent of the model."""

    model: Text
    model_identity: JsonObject
    response_format: ResponseFormat


class RunDraw(Document):
    """The draw of a run: the hash of the announcement, and the value drawn after it."""

    commitment: Digits
    value: Digits


class RunConfig(Document):
    """The content of run.json: model, settings, environments and machine."""

    version: Annotated[int, Strict(), Field(alias="schema", ge=SCHEMA, le=SCHEMA)]
    model: Text
    model_identity: JsonObject
    slots: Positive
    group_size: Positive
    opponent: Opponent | None = None
    random_player: Text = ""
    random_player_identity: JsonObject = Field(default_factory=dict)
    suite: Text
    suite_version: Whole
    suite_hash: Text
    split: Split
    sealed_key_hash: Text = ""
    draw: RunDraw | None = None
    samples: Positive
    seed: Count
    temperature: Annotated[Number, as_written]
    top_p: Annotated[float, Strict(), Field(gt=0, le=1)] = 1.0
    max_tokens: Whole
    response_format: AnswerFormat
    history: Count | None = None
    constrained: Flag
    pictures: Flag = False
    on_error: OnError = "exclude"
    prompt_hash: Text
    envs: Annotated[list[ChosenEnv], Field(min_length=1, fail_fast=True)]
    versions: JsonObject
    command: Text
    machine: JsonObject = Field(default_factory=dict)

    @property
    def planned(self) -> int:
        """Number of episodes of the complete run."""
        return sum(env.instances for env in self.envs) * self.samples

    @property
    def draw_key(self) -> str:
        """Key of the drawn split, "" for other splits."""
        return draw_key(self.draw.commitment, self.draw.value) if self.draw else ""

    @property
    def left_to_server(self) -> list[str]:
        """Settings that the model's server refused, so that its default applied."""
        names = self.model_identity.get("refused")
        refused = names if isinstance(names, list) else []
        return [name for name in ("temperature", "top_p", "seed") if name in refused]

    @property
    def opponent_format(self) -> ResponseFormat | None:
        """Response format of the opponent; None without an opponent."""
        return self.opponent.response_format if self.opponent else None


class Reply(Document):
    """An opponent's part of a turn: observation, reply, and extra fields of the game."""

    observation: Text
    answer: Text
    reasoning: Text
    finish: Finish
    prompt_tokens: Count
    completion_tokens: Count
    tokens_estimated: Flag = False


class ReplyCounts(Document):
    """Counts of an opponent's replies, and whether its context overflowed."""

    overflowed: Flag

    def __getitem__(self, count: str) -> int:
        """Return a count by its name."""
        number: int = (self.model_extra or {})[count]
        return number

    def as_json(self) -> JsonObject:
        """Return the counts as in a line of episodes.jsonl."""
        return {**(self.model_extra or {}), "overflowed": self.overflowed}


@dataclass(slots=True, kw_only=True)
class TurnRecord:
    """One turn: observation, response and outcome.

    A flag is None where a third-party environment does not report it, or a line of a file lacks it.

    Attributes:
        observation: Text that the player read.
        answer: The player's response without its separate reasoning.
        reasoning: Reasoning that the model reported separately.
        actions: Actions named in the response.
        reward: Reward of the turn.
        terminated: Whether the rules ended the episode.
        truncated: Whether the budget ended the episode.
        format_is_valid: Whether the response had a valid format.
        action_is_valid: Whether all named actions were known.
        action_is_effective: Whether the actions changed the state.
        answer_is_example: Whether the response repeats the example of the prompt.
        finish: Reason why the model stopped.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens generated.
        tokens_estimated: Whether those generated are estimated; left out of the file if not.
        opponent: The opponent's part of the turn, if it was asked.
    """

    observation: Text
    answer: Text
    reasoning: Text
    actions: list[str]
    reward: Number
    terminated: Flag | None = None
    truncated: Flag | None = None
    format_is_valid: Flag | None
    action_is_valid: Flag | None
    action_is_effective: Flag | None = None
    answer_is_example: Flag | None
    finish: Finish
    prompt_tokens: Count
    completion_tokens: Count
    tokens_estimated: Flag = False
    opponent: Reply | None = None

    def as_json(self) -> JsonObject:
        """Return the turn as in a line of episodes.jsonl."""
        turn = {name: getattr(self, name) for name in _TURN}
        if self.tokens_estimated:
            turn["tokens_estimated"] = True
        if self.opponent:
            turn["opponent"] = self.opponent.as_json()
        return turn


@dataclass(slots=True, kw_only=True)
class EpisodeRecord:
    """One finished episode; a third-party environment may leave its metrics None.

    Attributes:
        env: Full id of the environment.
        split: Split of the instance.
        index: Index of the instance in the split.
        sample: Number of the episode on the instance.
        rollout: Seed of the noise.
        instance: Hash of the instance.
        ceiling: Expected score of the best player, in [0, 1].
        optimal_length: Length of the shortest solution, where it is known.
        outcome: End of the episode.
        success: Whether the episode was solved.
        score: Score, in [0, 1].
        episode_return: Sum of rewards.
        opponent: Counts of the opponent's replies.
        turns: The turns.
        final_observation: Observation after the last turn.
        error: Reason why the episode was given up; "" if it was not.
        player: Name of the person who played; "" for a model, and then left out of the file.
    """

    env: Text
    split: Text
    index: Index
    sample: Whole
    rollout: Index | None = None
    instance: Text | None = None
    ceiling: Share | None
    optimal_length: Whole | None = None
    outcome: Outcome
    success: Flag | None
    score: Share | None
    episode_return: Annotated[Number, Field(alias="return")]
    opponent: ReplyCounts | None = None
    turns: Annotated[list[TurnRecord], Field(fail_fast=True)]
    final_observation: Text
    error: Annotated[Text, Field(max_length=LONGEST_REASON)] = ""
    player: Text = ""

    @property
    def key(self) -> Key:
        """Key of the episode, unique in its run."""
        return self.env, self.split, self.index, self.sample

    def as_json(self) -> JsonObject:
        """Return the episode as in a line of episodes.jsonl."""
        episode: JsonObject = {}
        for name in _EPISODE:
            value = getattr(self, name)
            if name == "turns":
                value = [turn.as_json() for turn in self.turns]
            elif name in ("opponent", "error", "player"):
                if not value:
                    continue
                value = value.as_json() if name == "opponent" else value
            episode["return" if name == "episode_return" else name] = value
        return episode


@dataclass(slots=True)
class Timing:
    """Time of one episode: its share of the run's seconds, and the seconds to its end."""

    env: Text
    seconds: Number
    elapsed: Number


@dataclass(slots=True)
class Fault:
    """An episode that a server left unfinished, with the reason."""

    env: Text
    split: Text
    index: Whole
    sample: Whole
    reason: Text

    @property
    def key(self) -> Key:
        """Key of the episode, unique in its run."""
        return self.env, self.split, self.index, self.sample


_EPISODE = [field.name for field in fields(EpisodeRecord)]
_OPTIONAL = ("tokens_estimated", "opponent")
_TURN = [field.name for field in fields(TurnRecord) if field.name not in _OPTIONAL]
