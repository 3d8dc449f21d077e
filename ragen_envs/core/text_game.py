"""The base class of every game: the hooks that a game overrides, and its instances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from ragen_envs.core.arguments import one_of
from ragen_envs.core.boards import Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.drawn import check_key
from ragen_envs.core.held_out import load
from ragen_envs.core.instances import (
    HELD_OUT_SIZE,
    SPLITS,
    Instance,
    RandomStream,
    Split,
    draw,
    held_out,
)
from ragen_envs.core.protocol import ACT, ActionReader, Function
from ragen_envs.core.sealed import open_key, secret_of
from ragen_envs.core.tool_calls import TypedFunction

Info: TypeAlias = dict[str, Any]
"""Gymnasium's info dictionary of a reset or a step."""
ResetOptions: TypeAlias = dict[str, Any]
"""Gymnasium's options of a reset, such as `index` and `noise_seed`."""


class Variant(Hashable, Protocol):
    """One environment of a game: a frozen dataclass with a name, a budget and the parameters."""

    @property
    def name(self) -> str:
        """The id without the namespace, such as "Sokoban-v0"."""
        ...

    @property
    def budget(self) -> Budget:
        """Maximum turns and actions per episode."""
        ...


_CACHED = 128
"""Maximum number of held-out sets in memory; a run needs fewer."""
_generated: dict[tuple[Hashable, Split, str], tuple[Any, ...]] = {}

V = TypeVar("V", bound=Variant)
I = TypeVar("I", bound=Instance)  # noqa: E741


def by_name(*variants: V) -> dict[str, V]:
    """Return variants by their names."""
    return {variant.name: variant for variant in variants}


class TextGame(Generic[V, I]):
    """The hooks of a game, which `TextEnv` calls.

    A game must override the abstract methods. `apply_action` and `end_turn` may set `terminated`
    and `success`, which are False when an episode starts.

    Attributes:
        variant: Row of the game's table that is played.
        split: "train", "val", "test", "sealed" or "drawn".
        sealed_key_hash: Hash of the key of the sealed split, else None.
        draw: Key of the drawn split, else None.
        terminated: The rules have ended the episode; set by the game.
        success: The game is won; set by the game.
        index: Index of the instance in the split. In the train split, the seed.
        noise_seed: Seed of the episode's noise, see `make_noise_stream`.
    """

    # Slots stay fast after a copy, `__dict__` does not.
    __slots__ = (
        "draw",
        "index",
        "noise_seed",
        "sealed_key_hash",
        "split",
        "success",
        "terminated",
        "variant",
    )
    terminated: bool
    success: bool
    index: int
    noise_seed: int
    variants: ClassVar[Mapping[str, Any]]
    """The game's variants by name."""
    game: ClassVar[str]
    """Name of the game, under which the instances of all its variants are hashed and split."""
    has_sealed: ClassVar[bool] = True
    """Whether the splits "sealed" and "drawn" exist. False if all instances are published."""
    variants_share_instances: ClassVar[bool] = False
    """Whether two variants may contain the same instance in the same held-out split."""
    held_out_files: ClassVar[str] = ""
    """Path of the shipped val and test files in the game's package, with {name} and {split}.

    If empty, the instances of val and test are generated.
    """
    stochastic: ClassVar[bool]
    """Whether equal responses to equal instances may lead to different results."""
    example: ClassVar[str]
    """Placeholder for the actions in the instructions, such as "ACTION || ACTION"."""
    functions: ClassVar[tuple[Function | TypedFunction, ...]] = (ACT,)
    """The functions that a model may call; every action is a call of one of them."""
    probes: ClassVar[tuple[str, ...]] = ()
    """Free-text actions that are not among the legal actions.

    The harness plays them for the hash of a specification, so that it changes with their replies.
    """

    def __init__(self, variant: str | V, split: Split, draw: str | None) -> None:
        self.variant = self.find_variant(variant)
        self.split = one_of("split", split, SPLITS)
        if split in ("sealed", "drawn") and not self.has_sealed:
            raise ValueError(
                f"{self.variant.name} has no split {split!r}, as all of its instances are "
                "public; take 'val' or 'test'"
            )
        if split != "drawn" and draw is not None:
            raise ValueError(f"draw goes with the split 'drawn', not with {split!r}")
        self.sealed_key_hash = open_key() if split == "sealed" else None
        self.draw = check_key(draw) if split == "drawn" else None

    # Instances.

    def generate_instances(self, stream: RandomStream) -> Iterable[I | None]:
        """Yield random instances of any split; None for a failed attempt.

        By default those of the variant's `generator`, called with the stream.
        """
        variant: Any = self.variant
        instances: Iterable[I | None] = variant.generator(stream)
        return instances

    def write_instance(self, instance: I) -> tuple[str, dict[str, object]]:
        """Return an instance as the body and the named fields of its block in a held-out file.

        By default the body is the digest, from which no instance can be read.
        """
        return instance.digest, {}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Any:
        """Return the instance that `write_instance` wrote; needed for `held_out_files` only."""
        raise NotImplementedError

    # An episode.

    @abstractmethod
    def start_instance(self, instance: I) -> ActionReader:
        """Set the state to the instance's initial state, and return the reader of its actions."""

    @abstractmethod
    def apply_action(self, action: int) -> tuple[float, bool]:
        """Run one action; return its points and whether it changed the state.

        An action is an index into the actions of the reader. Points are hundredths of reward: as
        ints they add up exactly, so that three times -0.1 is -0.3. Set `terminated` and `success`
        where the rules end the episode.
        """

    def end_turn(self) -> None:
        """Run after the actions of a turn, for games in which the turn itself has an effect."""

    @abstractmethod
    def find_best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle takes in this turn, at least one."""

    def compute_score(self) -> float:
        """Return the episode's score so far in [0, 1]; by default 1 for a success, else 0."""
        return 1.0 if self.success else 0.0

    def compute_oracle_info(self, instance: I) -> dict[str, float]:  # noqa: ARG002 (for games)
        """Return the oracle's entries of `info`: `ceiling`, perhaps `optimal_length`.

        By default `ceiling`, the highest expected score, is 1.
        """
        return {"ceiling": 1.0}

    def compute_train_info(self, instance: I) -> dict[str, float]:
        """Return the entries of `compute_oracle_info` that a train reset reports.

        By default all. A game whose solver takes longer than the rest of a reset leaves out the
        solver's; `oracle_info=True` reports them all the same.
        """
        return self.compute_oracle_info(instance)

    def compute_extra_info(self) -> dict[str, float]:
        """Return extra entries of `info` that may change in a turn, always with the same keys."""
        return {}

    def make_noise_stream(self) -> RandomStream:
        """Return the random stream of the episode's noise, independent of the instance's stream."""
        labels = "dynamics", self.variant.name, self.split, self.index, self.noise_seed
        if self.sealed_key_hash:
            return RandomStream(*labels, secret_of(self.sealed_key_hash))
        return RandomStream(*labels, self.draw) if self.draw else RandomStream(*labels)

    # Texts and boards.

    @property
    def extra_characters(self) -> frozenset[str]:
        """The characters beyond printable ASCII in the game's observations."""
        return frozenset()

    @abstractmethod
    def describe_rules(self) -> str:
        """Return the rules, symbols and actions, which begin the first observation.

        They depend on the variant alone: `TextEnv` asks once, and shows them for every instance.
        """

    @abstractmethod
    def render_state(self) -> str:
        """Return the current state as text."""

    @property
    def has_fixed_actions(self) -> bool:
        """Whether all turns of all instances of the variant list the same actions."""
        return False

    @property
    def board(self) -> Board | None:
        """The board's tiles and colours; None for a game that is not on a grid."""
        return None

    @classmethod
    def has_board(cls) -> bool:
        """Return whether the game has a `board`."""
        return cls.board is not TextGame.board

    def tile_numbers(self) -> bytes:
        """Return the number of each square's tile now, row by row; for games with a `board`."""
        raise NotImplementedError

    def board_counts(self) -> tuple[int, ...]:
        """Return the current numbers of the board's `counts`."""
        return ()

    # The source of instances.

    @classmethod
    def find_variant(cls, variant: str | V) -> V:
        """Return the variant of a name; a variant object is returned unchanged."""
        if not isinstance(variant, str):
            return variant
        found: V = cls.variants[one_of("variant", variant, tuple(cls.variants))]
        return found

    def get_instance(self, seed: int) -> I:
        """Return the instance of a seed, without a change to the running episode.

        Errors are those of `load_held_out`.
        """
        name = self.variant.name
        if self.split == "train":
            stream = RandomStream("instance", name, "train", seed)
            return draw(self.generate_instances, stream, "train")
        return self.load_held_out()[seed % self.held_out_size(name)]

    def load_held_out(self) -> tuple[I, ...]:
        """Return all instances of the split, which is not "train", in the order of their seeds.

        A ValueError if files are shipped, and the variant, which may have another budget, is not
        one of the suite's own.
        """
        name, variant = self.variant.name, self.variant
        if self.sealed_key_hash:
            return self._generate_held_out("sealed", secret_of(self.sealed_key_hash))
        if self.draw:
            return self._generate_held_out("sealed", self.draw)
        if not self.held_out_files:
            return self._generate_held_out(self.split)
        suite_variant = self.variants.get(name)
        if variant is not suite_variant and variant != suite_variant:
            own = "splits 'train', 'sealed' and 'drawn'" if self.has_sealed else "split 'train'"
            raise ValueError(
                f"the split {self.split!r} is of the suite's own variants; {name!r} of your own "
                f"has the {own}"
            )
        return self.load_shipped(name, self.split)

    def _generate_held_out(self, split: Split, secret: str = "") -> tuple[I, ...]:
        key = self.variant, split, secret
        if key not in _generated:
            if len(_generated) >= _CACHED:
                del _generated[next(iter(_generated))]
            name = self.variant.name
            size = self.held_out_size(name)
            _generated[key] = (
                *held_out(self.generate_instances, name, split, set(), secret, size),
            )
        return _generated[key]

    @classmethod
    def held_out_size(cls, name: str) -> int:  # noqa: ARG003 (for games that depend on it)
        """Return the number of instances in each held-out split of a variant: 256.

        A game with fewer different instances overrides this, so that none is counted twice.
        """
        return HELD_OUT_SIZE

    @classmethod
    @cache
    def load_shipped(cls, name: str, split: Split) -> tuple[I, ...]:
        """Return the shipped instances of a variant, in the order of their seeds.

        MissingInstancesError if the package ships none.
        """
        path = cls.held_out_files.format(name=name, split=split)
        return load(cls.__module__.rpartition(".")[0], path, cls.read_instance)
