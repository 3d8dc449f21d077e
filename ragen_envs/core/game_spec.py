"""The facts of a game, from which the registry, suites, bridges, analysis and docs are derived.

A game of this suite states them in its folder's `spec.py`; a game of another package through the
entry point group `ragen_envs.games`. Classes are named by strings, so that reading the facts
imports no game.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

NAMESPACE = "ragen"
"""The namespace of this suite's ids."""


def import_attribute(entry_point: str) -> Any:
    """Import what an entry point, "MODULE:ATTRIBUTE", names."""
    module, _, attribute = entry_point.partition(":")
    return getattr(import_module(module), attribute)


def find_file(place: str) -> str:
    """Return the path of a file in a package, "PACKAGE:FILE"."""
    package, _, name = place.partition(":")
    return f"{import_module(package).__path__[0]}/{name}"


class VariantSpec(NamedTuple):
    """One id of a game.

    Attributes:
        name: The id without its namespace, such as "Sokoban-v0": a key of the class's `variants`.
        description: A few words, for lists and the docs.
        suites: The suites that it belongs to, each with the number of instances from seed 0 on;
            None for all held-out instances. Every id of this package is in `full` too. A
            published suite takes no new ids.
        reference: Reason why the oracle's score is not an upper bound; "" if it is one.
    """

    name: str
    description: str
    suites: Mapping[str, int | None] = {}
    reference: str = ""


class OpponentSpec(NamedTuple):
    """One id of a game that needs an opponent. Its scores depend on it, so no suite has it.

    Attributes:
        name: The id without its namespace.
        description: A few words, for lists and the docs.
        entry_point: The class that Gymnasium makes, which calls a function for the opponent.
        harness_entry_point: The class that a harness steps with the opponent's texts.
    """

    name: str
    description: str
    entry_point: str
    harness_entry_point: str


class GameSpec(NamedTuple):
    """A game.

    Attributes:
        name: The name of the game, equal to its class's `game`, such as "frozen-lake".
        entry_point: "MODULE:CLASS" of its `TextEnv`.
        variants: The ids, in order; lists and suites keep the order.
        reward_range: The lowest and highest reward of one step.
        labels: The failure labels of its own, in order, each with one sentence.
        labeler: "MODULE:CLASS" of its `ragen_envs.core.failures.FailureLabeler`.
        opponents: The ids that need an opponent.
        namespace: The namespace of the ids.
        order: The position of the game in lists; games of equal order are sorted by name.
        suite_version: The version of `full`, or of the package's own suites, in which the game's
            ids last changed. The highest one is the version of the suite.
        blind: "PACKAGE:FILE" of a JSON object with a script for each variant: the best fixed
            answers that read no observation, a list of actions for each turn. "" if there is none.
    """

    name: str
    entry_point: str
    variants: tuple[VariantSpec, ...]
    reward_range: tuple[float, float]
    labels: Mapping[str, str] = {}
    labeler: str = "ragen_envs.core.failures:FailureLabeler"
    opponents: tuple[OpponentSpec, ...] = ()
    namespace: str = NAMESPACE
    order: int = 1000
    suite_version: int = 1
    blind: str = ""

    def check(self) -> None:
        """Check the fields: ValueError for a malformed one."""
        # Names in ASCII alone, so that none looks like another one.
        if not (self.namespace.isidentifier() and self.namespace.isascii()):
            raise ValueError(f"namespace must be an identifier in ASCII, got {self.namespace!r}")
        for text in (self.name, *self.suites):
            if not (text.isascii() and text.isprintable() and text.strip() == text != ""):
                raise ValueError(f"names of games and suites must be in ASCII, got {text!r}")
        for variant in self.all_variants:
            name, _, version = variant.name.rpartition("-v")
            if not (name.isidentifier() and version.isdecimal() and variant.name.isascii()):
                raise ValueError(f"a variant's name must look like Name-v0, got {variant.name!r}")
        low, high = self.reward_range
        if not low < high:
            raise ValueError(f"reward_range must be (low, high), got {self.reward_range}")

    @property
    def all_variants(self) -> tuple[VariantSpec | OpponentSpec, ...]:
        """The variants, then those that need an opponent."""
        return (*self.variants, *self.opponents)

    @property
    def suites(self) -> frozenset[str]:
        """The suites that a variant belongs to."""
        return frozenset(suite for variant in self.variants for suite in variant.suites)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the variants."""
        return tuple(f"{self.namespace}/{variant.name}" for variant in self.variants)

    @property
    def opponent_ids(self) -> tuple[str, ...]:
        """The ids that need an opponent."""
        return tuple(f"{self.namespace}/{variant.name}" for variant in self.opponents)
