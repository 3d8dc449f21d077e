"""The records of a run: run.json, and the lines of episodes.jsonl, timings.jsonl and faults.jsonl.

What is read from a file goes through pydantic, see `ragen_bench.runs.checked`; what the harness
plays is made directly. Other fields than these are free in all files: those of run.json are kept,
those of lines are passed over.

Episodes are dataclasses with slots, as pydantic checks them faster than models, and they take a
fifth of the memory: the figures of a run are computed over all of its turns.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeAlias

from ragen_bench.errors import missing_extra
from ragen_bench.models.base import Finish
from ragen_envs.core.drawn import draw_key
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat, ResponseFormat

try:
    from pydantic import BaseModel, ConfigDict, Field, Strict, WrapValidator
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

SCHEMA = 1
"""The version of these records."""
Object = dict[str, Any]
"""A JSON object."""
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A JSON value."""
Key = tuple[str, str, int, int]
"""Environment, split, index and sample: what tells an episode from the others of its run."""
Outcome = Literal["success", "failure", "ended", "truncated", "invalid_format", "context_overflow"]
"""How an episode ended: solved; by the rules, or so where the environment does not tell success; by
the budget, with or without one answer in form; or because the conversation outgrew the model's
context. All of them count in every figure."""

LARGEST = 10**15
"""Far beyond every figure of a run, and small enough for sums to stay finite."""
Text = Annotated[str, Strict()]
Digits = Annotated[Text, Field(max_length=64, pattern="^[0-9a-f]{64}$")]
"""Of SHA-256, or of 32 random bytes."""
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict(), Field(gt=-LARGEST, lt=LARGEST)]
Count = Annotated[int, Strict(), Field(ge=0, lt=LARGEST)]
Positive = Annotated[int, Strict(), Field(ge=1, lt=LARGEST)]
Index = Annotated[int, Strict(), Field(gt=-(1 << 63), lt=1 << 63)]
"""Of an instance; those of the train split are seeds, and no end of them."""
Seed = Annotated[int, Strict(), Field(ge=0, lt=1 << 63)]
"""An index that can be asked for."""
Number = Annotated[float, Strict(), Field(gt=-LARGEST, lt=LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
as_written = WrapValidator(lambda value, check: (check(value), value)[1])
"""Keeps a whole number whole where a `Number` is asked for, so that it is written as it was."""


class Document(BaseModel):
    """An object of a file that is written again with the fields that it was read with."""

    model_config = ConfigDict(
        extra="allow", frozen=True, strict=True, validate_by_name=True, protected_namespaces=()
    )

    def as_json(self) -> Object:
        """Return the object as its file has it."""
        return self.model_dump(by_alias=True, exclude_unset=True)


Indices = range | tuple[int, ...]
"""Which instances of a split are played."""


class RunEnv(Document):
    """An environment of a run: its id, how many instances are played, and its specification."""

    id: Text
    instances: Whole
    spec_hash: Text

    @property
    def played(self) -> Indices:
        """The instances that are played: the first ones of the split."""
        return range(self.instances)


class ChosenEnv(RunEnv):
    """An environment of a run that may name which instances are played."""

    indices: Annotated[list[Seed], Field(min_length=1)] | None = None

    @property
    def played(self) -> Indices:
        """The instances that are played: the named ones, or the first ones of the split."""
        return super().played if self.indices is None else tuple(self.indices)


class Opponent(Document):
    """Who plays against the model."""

    model: Text
    model_identity: Object
    response_format: ResponseFormat


class RunDraw(Document):
    """The draw of a run: the hash of what was announced, and what was drawn after it."""

    commitment: Digits
    value: Digits


class RunConfig(Document):
    """The content of run.json: what is evaluated, how, and on what machine."""

    version: Annotated[int, Strict(), Field(alias="schema", ge=SCHEMA, le=SCHEMA)]
    model: Text
    model_identity: Object
    slots: Positive
    group_size: Positive
    opponent: Opponent | None = None
    random_player: Text = ""
    random_player_identity: Object = Field(default_factory=dict)
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
    prompt_hash: Text
    envs: Annotated[list[ChosenEnv], Field(min_length=1, fail_fast=True)]
    versions: Object
    command: Text
    machine: Object = Field(default_factory=dict)

    @property
    def planned(self) -> int:
        """How many episodes the run has when it is complete."""
        return sum(env.instances for env in self.envs) * self.samples

    @property
    def draw_key(self) -> str:
        """The key of the drawn split, "" for the others."""
        return draw_key(self.draw.commitment, self.draw.value) if self.draw else ""

    @property
    def left_to_server(self) -> list[str]:
        """The settings that the model's server refused, so that its own default counted."""
        named = self.model_identity.get("refused")
        refused = named if isinstance(named, list) else []
        return [name for name in ("temperature", "top_p", "seed") if name in refused]

    @property
    def opponent_format(self) -> ResponseFormat | None:
        """The form of the opponent's answers, None where there is none."""
        return self.opponent.response_format if self.opponent else None


class Reply(Document):
    """An opponent's part of a turn: what it read and said, and what its game records of that."""

    observation: Text
    answer: Text
    reasoning: Text
    finish: Finish
    prompt_tokens: Count
    completion_tokens: Count


class ReplyCounts(Document):
    """What a game counts of an opponent's replies, and whether the opponent's context was full."""

    overflowed: Flag

    def __getitem__(self, count: str) -> int:
        """Return a count of the game."""
        number: int = (self.model_extra or {})[count]
        return number

    def as_json(self) -> Object:
        """Return the counts as a line of episodes.jsonl has them."""
        return {**(self.model_extra or {}), "overflowed": self.overflowed}


@dataclass(slots=True, kw_only=True)
class TurnRecord:
    """One turn: what the player read and answered, and what came of it.

    A flag is None where another package's environment does not tell it. Flags that a line of a file
    lacks are None too, which is not what a replay gives.
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
    opponent: Reply | None = None

    def as_json(self) -> Object:
        """Return the turn as a line of episodes.jsonl has it."""
        turn = {name: getattr(self, name) for name in _TURN}
        if self.opponent:
            turn["opponent"] = self.opponent.as_json()
        return turn


@dataclass(slots=True, kw_only=True)
class EpisodeRecord:
    """One finished episode; another package's environment need not tell the figures of it."""

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

    @property
    def key(self) -> Key:
        """What tells the episode from the others of its run."""
        return self.env, self.split, self.index, self.sample

    def as_json(self) -> Object:
        """Return the episode as a line of episodes.jsonl has it."""
        episode: Object = {}
        for name in _EPISODE:
            value = getattr(self, name)
            if name == "turns":
                value = [turn.as_json() for turn in self.turns]
            elif name == "opponent":
                if value is None:
                    continue
                value = value.as_json()
            episode["return" if name == "episode_return" else name] = value
        return episode


@dataclass(slots=True)
class Timing:
    """The seconds of one played episode: its share of the run's time, and the time to its end."""

    env: Text
    seconds: Number
    elapsed: Number


@dataclass(slots=True)
class Fault:
    """An episode that a server left unfinished."""

    env: Text
    split: Text
    index: Whole
    sample: Whole
    reason: Text

    @property
    def key(self) -> Key:
        """What tells the episode from the others of its run."""
        return self.env, self.split, self.index, self.sample


_EPISODE = [field.name for field in fields(EpisodeRecord)]
_TURN = [field.name for field in fields(TurnRecord) if field.name != "opponent"]
