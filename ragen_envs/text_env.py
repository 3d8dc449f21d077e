"""The one Gymnasium environment that every game of the suite extends.

It owns what all games share: whole answers as actions, turns, budgets, penalties, instances and
the `info` dictionary. A game adds its rules, its text and its oracle through the hooks below.
"""

from __future__ import annotations

import string
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text
from gymnasium.utils.seeding import np_random

from ragen_envs.budget import Budget
from ragen_envs.feedback import feedback
from ragen_envs.held_out import load
from ragen_envs.instances import HELD_OUT_SIZE, SPLITS, Instance, Split, Stream, draw
from ragen_envs.protocol import (
    BROKEN,
    RESPONSE_FORMATS,
    ActionReader,
    Parsed,
    ResponseFormat,
    instructions,
)
from ragen_envs.sealed import open_key, sealed_instances, secret_of

PRINTABLE = frozenset(string.ascii_letters + string.digits + string.punctuation + " \n")
MAX_OBSERVATION = 4096
"""Characters in the longest observation that an environment may declare."""
MAX_ACTION = 4096
"""Characters in the longest action that the action space samples; `step` takes any length."""


class Variant(Hashable, Protocol):
    """What every game's table of variants holds: frozen, so that it can name its instances."""

    @property
    def name(self) -> str:
        """The id without the namespace, such as "Sokoban-v0"."""
        ...

    @property
    def budget(self) -> Budget:
        """The budget of an episode."""
        ...


V = TypeVar("V", bound=Variant)
I = TypeVar("I", bound=Instance)  # noqa: E741


class TextEnv(gymnasium.Env[str, str], Generic[V, I]):
    """A turn-based text game: one `step` takes the whole answer of a language model.

    Args:
        variant: a name from the game's `variants`, or a variant of your own.
        split: "train" (unbounded), "val", "test" or "sealed" (256 instances each). Sealed ones
            follow from a key in the process's environment, see `ragen_envs.sealed`.
        response_format: "think", "answer" or "plain", see `ragen_envs.protocol`.
        render_mode: None or "ansi"; `render` then returns the state as text.

    Raises:
        ValueError: for an argument that is none of these.
        SealedKeyError: if the split is sealed and there is no key.
    """

    # What every step reads and writes: slots stay fast after a copy, `__dict__` does not.
    __slots__ = (
        "_actions_left",
        "_frame",
        "_generator",
        "_index",
        "_instance",
        "_legal",
        "_reader",
        "_reset_info",
        "_rollout",
        "_running",
        "_success",
        "_terminated",
        "_turn",
        "budget",
        "response_format",
    )
    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}
    variants: ClassVar[Mapping[str, Any]]
    game: ClassVar[str]
    """The name under which the contents of all variants are hashed and split."""
    variants_share_instances: ClassVar[bool] = False
    """Whether two variants may hold the same instance in the same held-out split."""
    held_out_files: ClassVar[str]
    """Where the game's package ships them, with {name} and {split}."""

    def __init__(
        self,
        variant: str | V,
        split: Split = "train",
        response_format: ResponseFormat = "think",
        render_mode: str | None = None,
    ) -> None:
        self.variant: V = self._variant(variant)
        self.split = _one_of("split", split, SPLITS)
        self.sealed_key_hash = open_key() if split == "sealed" else None
        self.response_format = _one_of("response_format", response_format, RESPONSE_FORMATS)
        self.render_mode = _one_of("render_mode", render_mode, (None, "ansi"))
        self.budget: Budget = self.variant.budget
        self.observation_space = Text(
            MAX_OBSERVATION, charset=_ordered(PRINTABLE | self._symbols())
        )
        self.action_space = Text(MAX_ACTION, min_length=0, charset=_ordered(PRINTABLE))
        self._running = False
        self._legal: tuple[str, ...] = ()
        self._instance: I | None = None
        self._frame: tuple[str, str] | None = None
        self._generator: np.random.Generator | None = None

    # What a game provides.

    @abstractmethod
    def _symbols(self) -> frozenset[str]:
        """Return the characters beyond printable ASCII that its texts use."""

    @abstractmethod
    def candidates(self, stream: Stream) -> Iterable[I | None]:
        """Yield instances of any split as the stream decides; None for a failed try."""

    @abstractmethod
    def write_instance(self, instance: I) -> tuple[str, dict[str, object]]:
        """Return an instance as the body and the figures of its block in a held-out file."""

    @staticmethod
    @abstractmethod
    def read_instance(body: str, figures: dict[str, str]) -> Any:
        """Return the instance that `write_instance` wrote."""

    @abstractmethod
    def _begin(self, instance: I) -> ActionReader:
        """Set the state to the instance's first, and return the reader of its actions."""

    @abstractmethod
    def _apply(self, action: int) -> tuple[float, bool]:
        """Run one action; return its points and whether it changed the state.

        Points are hundredths of reward: as ints they add up exactly, so that three times -0.1 is
        -0.3. Sets `_terminated` and `_success` where the rules end the episode.
        """

    @abstractmethod
    def _rules(self) -> str:
        """Return the rules, symbols and actions, as the first observation states them.

        They are those of the variant: asked for once, they stand before every instance.
        """

    @abstractmethod
    def _state(self) -> str:
        """Return the present state as text."""

    @abstractmethod
    def _oracle(self, instance: I) -> dict[str, float]:
        """Return the oracle's figures for `info`: `ceiling`, perhaps `optimal_length`."""

    @abstractmethod
    def _best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle would answer with in this turn, at least one."""

    _example: ClassVar[str]
    """The placeholder that stands for the actions in the instructions."""

    def _score(self) -> float:
        """Return the episode's score so far in [0, 1]; success or not, unless a game says more."""
        return 1.0 if self._success else 0.0

    def _end_turn(self) -> None:
        """Run after the actions of a turn, for games in which the answer itself ends something."""

    # What Gymnasium asks for.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: which instance of the split. In all but "train" the seeds 0 to 255 enumerate
                the instances and larger ones wrap; `info["index"]` says where it landed. Without
                a seed the next one is drawn from `np_random`.
            options: {"rollout": j} with an int j >= 0 changes the dynamics noise and nothing else.

        Returns:
            The first observation (rules, answer format, state) and `info`.

        Raises:
            ValueError: for a seed that is a bool, or an option that is not known.
            gymnasium.error.Error: for another seed that is no int of at least 0.
        """
        self._seed(seed)
        rollout = _rollout_of(options)
        if seed is None:
            bound = 1 << 62 if self.split == "train" else HELD_OUT_SIZE
            seed = int(self.np_random.integers(bound))
            if rollout is None:
                rollout = int(self.np_random.integers(1 << 62))
        instance = self._instance = self.instance_of(int(seed))
        self._index = int(seed) if self.split == "train" else int(seed) % HELD_OUT_SIZE
        self._rollout = rollout or 0
        self._turn = 0
        self._actions_left = self.budget.max_actions
        self._running = True
        self._terminated = self._success = False
        self._reader = self._begin(instance)
        self._legal = self._reader.actions
        self._reset_info = self._info_at_reset(instance)
        if self._frame is None:
            self._frame = f"{self._rules()}\n\n", f"\n\n{self._instructions()}"
        before, after = self._frame
        return before + self._state() + after, self._reset_info.copy()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one answer: run its valid actions in order, within the budgets.

        Args:
            action: the whole answer, any str.

        Returns:
            Observation, reward, terminated (the rules ended the episode), truncated (the budget
            did) and `info`.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
        """
        if not self._running:
            self._need_running()
        if not isinstance(action, str):
            raise TypeError(f"an answer is a str, got {type(action).__name__}")
        reader, budget = self._reader, self.budget
        parsed = reader.read(action, self.response_format)
        _, actions, actions_valid, _ = parsed
        if len(actions) > 1:
            actions = actions[: self.actions_this_turn]
        points: float = 0 if actions_valid else -budget.penalty
        effective = False
        ran = 0
        for move in actions:
            gain, changed = self._apply(move)
            ran += 1
            points += gain
            effective = effective or changed
            if self._terminated:
                break
        self._turn = turn = self._turn + 1
        self._actions_left = left = self._actions_left - ran
        self._end_turn()
        terminated = self._terminated
        truncated = not terminated and (turn >= budget.max_turns or left <= 0)
        if terminated or truncated:
            self._running = False
            self._legal = ()
        reward = points / 100
        dropped = len(parsed.actions) - ran
        did = reader.actions, actions[:ran], dropped
        told = feedback(
            parsed.format_valid, actions_valid, did, reward, budget.max_turns - turn, left
        )
        observation = f"{told}\n{self._state()}"
        return observation, reward, terminated, truncated, self._info(parsed, effective)

    def render(self) -> str | None:
        """Return the present state as text in mode "ansi", else None.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        if self.render_mode is None:
            return None
        if self._instance is None:
            raise ResetNeeded("call reset() before render()")
        return self._state()

    def _seed(self, seed: int | None) -> None:
        if isinstance(seed, bool):
            raise ValueError(f"a seed is an int of at least 0, got {seed}")
        if type(seed) is int and seed >= 0:
            self._generator, self._np_random_seed = None, seed
        else:
            super().reset(seed=seed)  # which knows all that may be wrong with a seed

    @property
    def _np_random(self) -> np.random.Generator | None:
        """Gymnasium's generator, made when it is first asked for: that takes half of a reset."""
        if self._generator is None and self._np_random_seed is not None:
            self._generator, _ = np_random(self._np_random_seed)
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator = generator

    # What the games and the policies may use.

    def best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle would answer with in this turn.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
        """
        self._need_running()
        return self._best_actions()

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The names of the actions that may be answered now; empty after the end."""
        return self._legal

    @property
    def actions_this_turn(self) -> int:
        """How many actions the present turn may run."""
        return min(self.budget.max_actions_per_turn, self._actions_left)

    @property
    def turns_left(self) -> int:
        """How many answers may still be given."""
        return self.budget.max_turns - self._turn

    def _need_running(self) -> None:
        if not self._running:
            raise ResetNeeded("the episode is over or never began: call reset() first")

    def _dynamics(self) -> Stream:
        """Return the stream of this rollout's noise, which knows nothing of the instance's."""
        labels = "dynamics", self.variant.name, self.split, self._index, self._rollout
        if self.sealed_key_hash:
            return Stream(*labels, secret_of(self.sealed_key_hash))
        return Stream(*labels)

    def instance_of(self, seed: int) -> I:
        """Return the instance of a seed; the environment's own state stays as it is."""
        name = self.variant.name
        if self.split == "train":
            return draw(self.candidates, Stream("instance", name, "train", seed), "train")
        held_out = (
            sealed_instances(self.candidates, name, self.variant, self.sealed_key_hash)
            if self.sealed_key_hash
            else self.shipped(name, self.split)
        )
        return held_out[seed % HELD_OUT_SIZE]

    @classmethod
    def shipped(cls, name: str, split: Split) -> tuple[I, ...]:
        """Return the held-out instances of a variant, in the order of their seeds.

        Raises:
            ValueError: if the package ships none, as for a variant of your own.
        """
        path = cls.held_out_files.format(name=name, split=split)
        return load(cls.__module__.rpartition(".")[0], path, cls.read_instance)

    def _instructions(self) -> str:
        return instructions(self._example, self.response_format)

    def _info_at_reset(self, instance: I) -> dict[str, Any]:
        return {
            "success": False,
            "score": self._score(),
            "format_is_valid": BROKEN.format_valid,
            "action_is_valid": BROKEN.actions_valid,
            "action_is_effective": False,
            "answer_is_example": BROKEN.is_example,
            "legal_actions": self._legal,
            "turn": self._turn,
            "actions_left": self._actions_left,
            "instance": instance.digest,
            "index": self._index,
            **self._oracle(instance),
        }

    def _info(self, parsed: Parsed, effective: bool) -> dict[str, Any]:
        info = self._reset_info.copy()  # a third faster than a new dict
        info["success"] = self._success
        info["score"] = self._score()
        # Unpacked, which is faster than four named fields.
        info["format_is_valid"], _, info["action_is_valid"], info["answer_is_example"] = parsed
        info["action_is_effective"] = effective
        info["legal_actions"] = self._legal
        info["turn"] = self._turn
        info["actions_left"] = self._actions_left
        return info

    @classmethod
    def _variant(cls, variant: Any) -> Any:
        if not isinstance(variant, str):
            return variant
        return cls.variants[_one_of("variant", variant, tuple(cls.variants))]


def _ordered(charset: frozenset[str]) -> str:
    """Return the characters in one order, in which older Gymnasiums keep them when they sample."""
    return "".join(sorted(charset))


T = TypeVar("T")


def _one_of(what: str, value: T, choices: Sequence[T]) -> T:
    if value not in choices:
        raise ValueError(f"{what} {value!r} is unknown; choose one of {list(choices)}")
    return value


def _rollout_of(options: dict[str, Any] | None) -> int | None:
    if not options:
        return None
    unknown = sorted((option for option in options if option != "rollout"), key=repr)
    if unknown:
        raise ValueError(f"unknown reset options {unknown}; the only one is 'rollout'")
    rollout = options["rollout"]
    if isinstance(rollout, bool) or not isinstance(rollout, int) or rollout < 0:
        raise ValueError(f"the option 'rollout' is an int of at least 0, got {rollout!r}")
    return rollout
