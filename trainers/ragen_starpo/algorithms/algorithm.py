"""Registered functions: inputs, settings, and the facts that recipes are checked against."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, ClassVar, Literal, get_type_hints

from pydantic import ConfigDict, ValidationError, create_model

_OWN_SETTINGS = ConfigDict(extra="forbid", arbitrary_types_allowed=True, strict=True)
"""Strict, since functions get settings as they are given; a number in quotes is refused."""


@dataclass(frozen=True)
class Algorithm:
    """A registered function.

    Each parameter of the function is one of `inputs`, a setting of the recipe's table, or a
    setting of its own. The recipe gives the latter as `settings.NAME` in that table; type and
    default are those of the parameter.

    Attributes:
        name: Name in recipes.
        function: The registered function.
        formula: Formula for the table of docs/algorithms.md, with settings in backquotes.
        paper: Number on arXiv.
        verl: verl's name of the same function.
    """

    inputs: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[str]

    name: str
    function: Callable[..., Any]
    formula: str = ""
    paper: str = ""
    verl: str = ""

    def __call__(self, table: object, **inputs: object) -> Any:
        """Call the function with a table of the recipe, and tensors by the names in `inputs`."""
        settings = vars(table)
        values = {**settings, **settings["settings"], **inputs}
        return self.function(**{name: values[name] for name in self.parameters if name in values})

    def takes(self, name: str) -> bool:
        """Return whether the function has a parameter of this name."""
        return name in self.parameters

    def check(self, table: object) -> None:
        """Raise ValueError if one of the function's own settings is unknown, missing or invalid."""
        given: Mapping[str, object] = vars(table)["settings"]
        own = self.find_own_settings(vars(table))
        hints = get_type_hints(self.function, include_extras=True) if own else {}
        fields: dict[str, Any] = {
            name: (hints.get(name, Any), ... if one.default is Parameter.empty else one.default)
            for name, one in own.items()
        }
        if not fields and not given:
            return
        model = create_model(self.name, __config__=_OWN_SETTINGS, **fields)
        try:
            model.model_validate_json(json.dumps(given, default=str))
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            message = first["msg"]
            if first["type"] == "extra_forbidden":
                message = f"{self.name} has {', '.join(fields) or 'no settings of its own'}"
            raise ValueError(f"settings.{name}: {message}") from None

    def find_own_settings(self, shared: Collection[str]) -> dict[str, Parameter]:
        """Return the parameters that are neither inputs nor among the table's shared settings."""
        others = {*shared, *self.inputs}
        return {name: one for name, one in self.parameters.items() if name not in others}

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The function's parameters by name."""
        return signature(self.function).parameters


@dataclass(frozen=True)
class Estimator(Algorithm):
    """An advantage estimator.

    Its function returns advantages, (trajectories, tokens), or a pair of them and the returns that
    the critic learns.

    Attributes:
        critic: True if a critic is trained, whose `values` the function takes.
        whole_returns: True if it compares returns with a baseline of their group.
        credit: The only setting of `advantage.credit` that it supports; None for both.
    """

    kind = "estimator"
    inputs = (
        *("rewards", "values", "mask", "ends", "scores", "groups"),
        *("turns", "turn_rewards", "states"),
    )

    critic: bool = False
    whole_returns: bool = False
    credit: Literal["trajectory", "turn"] | None = None


@dataclass(frozen=True)
class Loss(Algorithm):
    """A policy loss.

    Its function returns the loss of each token, (sequences, tokens), and metrics by name.
    """

    kind = "loss"
    optional: ClassVar[tuple[str, ...]] = ("sequences", "noise")
    inputs = ("log_probs", "old_log_probs", "advantages", "mask", *optional)

    @property
    def columns(self) -> list[str]:
        """The optional inputs that the function takes."""
        return [name for name in self.optional if self.takes(name)]


@dataclass(frozen=True)
class Filter(Algorithm):
    """A group filter.

    Its function returns (groups,) booleans: True for a group that is trained on.

    Attributes:
        compares_returns: True if it needs groups whose returns differ, so at least two rollouts.
        fractions: True if it takes fractions of scores, which must not be negative.
        limit: The most groups that it keeps of N, from N and settings by name; None for N.
    """

    kind = "filter strategy"
    inputs = ("scores", "stds")

    compares_returns: bool = True
    fractions: bool = False
    limit: Callable[..., int] | None = None

    def max_groups(self, count: int, table: object) -> int:
        """Return the most groups that are kept of `count`."""
        if self.limit is None:
            return count
        values = {**vars(table), "count": count}
        return self.limit(**{name: values[name] for name in signature(self.limit).parameters})
