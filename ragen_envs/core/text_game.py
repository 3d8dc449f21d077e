"""The base of every game: the hooks that `TextEnv` calls, and the source of its instances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ragen_envs.core.boards import Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.drawn import drawn_instances
from ragen_envs.core.held_out import load
from ragen_envs.core.instances import HELD_OUT_SIZE, Instance, Split, Stream, draw
from ragen_envs.core.protocol import ACT, ActionReader, Function
from ragen_envs.core.sealed import sealed_instances, secret_of
from ragen_envs.core.typed_calls import TypedFunction


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


class TextGame(Generic[V, I]):
    """The half of `TextEnv` that differs from game to game.

    Attributes:
        variant: the row of the game's table that is played.
        split: "train", "val", "test", "sealed" or "drawn".
        sealed_key_hash: names the key of a sealed split, else None.
        draw: the key of a drawn split, else None.
    """

    __slots__ = ()
    variant: V
    split: Split
    sealed_key_hash: str | None
    draw: str | None
    _success: bool
    _index: int
    _rollout: int
    variants: ClassVar[Mapping[str, Any]]
    game: ClassVar[str]
    """The name under which the contents of all variants are hashed and split."""
    has_sealed: ClassVar[bool] = True
    """Whether a key can seal instances; not where all that there are have been published."""
    variants_share_instances: ClassVar[bool] = False
    """Whether two variants may hold the same instance in the same held-out split."""
    held_out_files: ClassVar[str]
    """Where the game's package ships them, with {name} and {split}."""
    stochastic: ClassVar[bool]
    """Whether the same answers to the same instance may fare differently in another rollout."""
    example: ClassVar[str]
    """The placeholder that stands for the actions in the instructions."""
    functions: ClassVar[tuple[Function | TypedFunction, ...]] = (ACT,)
    """Every action is a call of one of these, see `ragen_envs.core.tools`."""
    probes: ClassVar[tuple[str, ...]] = ()
    """Actions in free text that are not among the legal actions.

    The harness plays them for the hash of a specification, so that it changes with their replies.
    """

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

    def _score(self) -> float:
        """Return the episode's score so far in [0, 1]; success or not, unless a game says more."""
        return 1.0 if self._success else 0.0

    @classmethod
    def _is_detailed(cls) -> bool:
        """Return whether the game has further entries of `info`."""
        return cls._details is not TextGame._details

    def _details(self) -> dict[str, float]:
        """Return further entries of `info`, the same keys at any time, which turns may change."""
        return {}

    @property
    def has_fixed_actions(self) -> bool:
        """Whether all turns of all instances of the variant list the same actions."""
        return False

    @property
    def board(self) -> Board | None:
        """How the game looks as arrays and in colours; None for a game that is not on a grid."""
        return None

    @classmethod
    def has_board(cls) -> bool:
        """Return whether the game has a `board`."""
        return cls.board is not TextGame.board

    def tile_numbers(self) -> bytes:
        """Return the number of each square's tile now, row by row; for games with a `board`."""
        raise NotImplementedError

    def board_counts(self) -> tuple[int, ...]:
        """Return the numbers that the signs of the board's `counts` stand for, now."""
        return ()

    def _end_turn(self) -> None:
        """Run after the actions of a turn, for games in which the answer itself ends something."""

    def _dynamics(self) -> Stream:
        """Return the stream of this rollout's noise, which knows nothing of the instance's."""
        labels = "dynamics", self.variant.name, self.split, self._index, self._rollout
        if self.sealed_key_hash:
            return Stream(*labels, secret_of(self.sealed_key_hash))
        return Stream(*labels, self.draw) if self.draw else Stream(*labels)

    def instance_of(self, seed: int) -> I:
        """Return the instance of a seed; the environment's own state stays as it is.

        Raises:
            ValueError: if the split is "val" or "test" and the variant is one of your own.
        """
        name = self.variant.name
        if self.split == "train":
            return draw(self.candidates, Stream("instance", name, "train", seed), "train")
        return self._held_out()[seed % self.held_out_size(name)]

    def _held_out(self) -> tuple[I, ...]:
        """Return the instances of the split, in the order of their seeds."""
        name = self.variant.name
        if self.sealed_key_hash:
            return sealed_instances(self.candidates, name, self.variant, self.sealed_key_hash)
        if self.draw:
            return drawn_instances(self.candidates, name, self.variant, self.draw)
        return self._shipped()

    def _shipped(self) -> tuple[I, ...]:
        """Return the held-out instances, which are for the suite's own variants alone.

        Those of a variant that keeps a name and changes the rest may not fit into its budget.
        """
        name = self.variant.name
        suites = self.variants.get(name)
        if self.variant is not suites and self.variant != suites:
            own = "splits 'train', 'sealed' and 'drawn'" if self.has_sealed else "split 'train'"
            raise ValueError(
                f"the split {self.split!r} is of the suite's own variants; {name!r} of your own "
                f"has the {own}"
            )
        return self.shipped(name, self.split)

    @classmethod
    def held_out_size(cls, name: str) -> int:  # noqa: ARG003 (for games that depend on it)
        """Return how many instances each held-out split of a variant has: 256.

        A game with fewer different ones says so, instead of repeating them: every instance is
        counted once, and larger seeds wrap.

        Args:
            name: the variant.
        """
        return HELD_OUT_SIZE

    @classmethod
    @cache
    def shipped(cls, name: str, split: Split) -> tuple[I, ...]:
        """Return the held-out instances of a variant, in the order of their seeds.

        Raises:
            ValueError: if the package ships none.
        """
        path = cls.held_out_files.format(name=name, split=split)
        return load(cls.__module__.rpartition(".")[0], path, cls.read_instance)
