"""Estimators, losses and filters by name: those of this package and of installed ones.

Neither this module nor the built-in algorithms import torch before they run. The first lookup
imports the built-in algorithms, and the modules that installed packages name in the entry point
group `ragen_starpo.algorithms`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from ragen_bench.errors import described, unknown
from ragen_bench.visible import visible
from ragen_starpo.algorithms.algorithm import Algorithm, Estimator, Filter, Loss

GROUP = "ragen_starpo.algorithms"
"""The entry point group of third-party packages."""

KLEstimator: TypeAlias = Literal["k1", "k2", "k3", "abs"]
KL_ESTIMATORS: tuple[KLEstimator, ...] = get_args(KLEstimator)
Aggregation: TypeAlias = Literal[
    "token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"
]
AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)

_BUILT_IN = ("advantages", "group_advantages", "filters", "losses", "covariance_losses")


A = TypeVar("A", bound=Algorithm)


@dataclass
class Registry(Generic[A]):
    """Algorithms of one kind by name."""

    type: type[A]
    _algorithms: dict[str, A] = field(default_factory=dict)

    def register(self, name: str, **facts: Any) -> Callable[[Function], Function]:
        """Return a decorator that registers a function, with `facts` for its class."""

        def add(function: Function) -> Function:
            if name in self._algorithms:
                raise ValueError(
                    f"the {self.type.kind} {name!r} of {function.__module__} is registered "
                    f"already, by {self._algorithms[name].function.__module__}"
                )
            self._algorithms[name] = self.type(name, function, **facts)
            return function

        return add

    def find(self, name: str) -> A:
        """Return the algorithm of a name; ValueError if no package registers it."""
        found = self._all().get(name)
        if found is None:
            raise ValueError(str(unknown(self.type.kind, name, self._all())))
        return found

    def check(self, name: str) -> str:
        """Return the name if it is registered, else raise as `find` does."""
        return self.find(name).name

    def names(self) -> list[str]:
        """Return the registered names, the built-in ones first."""
        return list(self._all())

    def _all(self) -> dict[str, A]:
        _load()
        return self._algorithms


Function = TypeVar("Function", bound=Callable[..., Any])
ESTIMATORS = Registry(Estimator)
LOSSES = Registry(Loss)
FILTERS = Registry(Filter)
_loaded: set[str] = set()


def estimator(
    name: str,
    *,
    critic: bool = False,
    whole_returns: bool = False,
    credit: Literal["trajectory", "turn"] | None = None,
    **facts: str,
) -> Callable[[Function], Function]:
    """Register an advantage estimator, see `Estimator`.

    Its inputs are `rewards` and `values`, (trajectories, tokens); `mask`, 1 on sampled tokens;
    `ends`, 1 on each turn's last sampled token; `scores`, (trajectories,) returns; `groups`,
    (trajectories,) the number of the instance; `turns`, (trajectories, tokens) the turn of each
    token; `turn_rewards`, (trajectories, turns); and `states`, (trajectories, turns) the number of
    the state that a turn began in, equal for equal states of a group, -1 after the last turn.
    Shared settings are those of `AdvantageSettings`.
    """
    if whole_returns and credit is None:
        credit = "trajectory"
    return ESTIMATORS.register(
        name, critic=critic, whole_returns=whole_returns, credit=credit, **facts
    )


def loss(name: str, **facts: str) -> Callable[[Function], Function]:
    """Register a policy loss, see `Loss`.

    Its inputs are `log_probs`, `old_log_probs`, `advantages` and `mask`; `sequences`, the number of
    the trajectory or turn that `loss.sequence` sets, which rises along a row; and `noise`, uniform
    random numbers from the recipe's seed. All are (sequences, tokens). Shared settings are those of
    `LossSettings`.
    """
    return LOSSES.register(name, **facts)


def filter(
    name: str,
    *,
    compares_returns: bool = True,
    fractions: bool = False,
    limit: Callable[..., int] | None = None,
    **facts: str,
) -> Callable[[Function], Function]:
    """Register a group filter, see `Filter`.

    Its inputs are `scores`, (groups,) the score that the recipe asks for, and `stds`, (groups,) the
    standard deviation of the group's returns. Shared settings are those of `FilterSettings`.
    """
    return FILTERS.register(
        name, compares_returns=compares_returns, fractions=fractions, limit=limit, **facts
    )


def _load() -> None:
    """Import every algorithm once; a broken package is reported and left out."""
    if _loaded:
        return
    _loaded.add(GROUP)
    for module in _BUILT_IN:
        import_module(f"{__package__}.{module}")
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # noqa: BLE001 - any code of a third party
            logging.getLogger(__name__).warning(
                "the algorithms of %s cannot be loaded: %s; mend or uninstall that package",
                point.value,
                visible(described(error)),
            )
