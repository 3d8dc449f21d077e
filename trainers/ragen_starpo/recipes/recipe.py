"""The recipe: all settings of a training run, checked before anything is loaded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ragen_bench.errors import UserError
from ragen_envs.core.protocol import ResponseFormat
from ragen_starpo.algorithms.registry import ESTIMATORS
from ragen_starpo.recipes import checks
from ragen_starpo.recipes.files import override, settings_of
from ragen_starpo.recipes.mixture import in_turn
from ragen_starpo.recipes.problems import first_problem
from ragen_starpo.recipes.sections import (
    STRICT,
    AdvantageSettings,
    ClusterSettings,
    CorrectionSettings,
    Count,
    DiagnosticsSettings,
    EnvironmentSettings,
    FilterSettings,
    LoraSettings,
    LossSettings,
    MixtureSettings,
    MonitorSettings,
    NonNegative,
    OptimiserSettings,
    RecordSettings,
    RolloutSettings,
    Seed,
    ShapingSettings,
    ValidationSettings,
)


@dataclass(frozen=True, config=STRICT)
class Recipe:
    """A training run.

    Attributes:
        model: a folder that transformers reads, a name that the hub knows, or `smollm2-135m`.
        envs: ids, each once, taken in turn as often as their shares in `mixture` say; where an
            iteration ends within a turn, the next one goes on there. The filter keeps its share of
            each one's groups.
        name: of the run, in its report and where its figures are told, and for nothing else;
            `read_recipe` gives a recipe without one the name that it is read by.
        response_format: of the answers.
        iterations: of rollouts and updates.
        updates: passes over the rollouts of an iteration (online-k).
        mini_batch: the most trajectories of one step of the optimiser; a pass over an iteration's
            takes as few steps as that allows, of equal sizes but for one trajectory.
        micro_batch: sequences that are computed at once, which are trajectories or, with a limited
            history, turns; decides memory, and no figure.
        micro_batch_tokens: tokens that are computed at once, padding included, in place of so many
            sequences; those of the longest sequence, where that has more. None to count sequences.
        checkpoint_every: iterations; 0 for none but the one after the last iteration.
        give_up_after: iterations in a row in which the filter leaves nothing.
        seed: of instances, noise, sampling and the order of updates; below 2**30, where instances
            of demonstrations begin.
    """

    model: str
    envs: tuple[str, ...]
    name: str = field(default="", compare=False)
    response_format: ResponseFormat = "think"
    iterations: Count = 200
    updates: Count = 1
    mini_batch: Count = 32
    micro_batch: Count = 8
    micro_batch_tokens: Count | None = None
    checkpoint_every: NonNegative = 50
    give_up_after: Count = 5
    seed: Seed = 0
    mixture: MixtureSettings = field(default_factory=MixtureSettings)
    rollouts: RolloutSettings = field(default_factory=RolloutSettings)
    advantage: AdvantageSettings = field(default_factory=AdvantageSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    correction: CorrectionSettings = field(default_factory=CorrectionSettings)
    shaping: ShapingSettings = field(default_factory=ShapingSettings)
    optimiser: OptimiserSettings = field(default_factory=lambda: OptimiserSettings(1e-6))
    critic: OptimiserSettings = field(default_factory=lambda: OptimiserSettings(1e-5))
    lora: LoraSettings | None = None
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    records: RecordSettings = field(default_factory=RecordSettings)
    diagnostics: DiagnosticsSettings = field(default_factory=DiagnosticsSettings)
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    environment: EnvironmentSettings = field(default_factory=EnvironmentSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)

    def __post_init__(self) -> None:
        for problem in filter(None, self._problems()):
            raise ValueError(problem)

    @property
    def in_turn(self) -> list[str]:
        """The environments of the run's instances, which begin anew after the last one."""
        shares = [self.mixture.shares.get(env, 1) for env in self.envs]
        return [self.envs[place] for place in in_turn(shares)]

    @property
    def most_steps(self) -> int:
        """The most steps that the optimiser can take in the whole run."""
        size, envs = self.rollouts.instances, self.in_turn
        # Where an iteration begins decides it: at one of these places, one after the other.
        places = range(0, math.lcm(size, len(envs)), size)
        steps = [
            self._most_steps(envs[number % len(envs)] for number in range(place, place + size))
            for place in places
        ]
        whole, rest = divmod(self.iterations, len(steps))
        return whole * sum(steps) + sum(steps[:rest])

    @property
    def has_critic(self) -> bool:
        """Whether the advantage estimator trains a critic."""
        return ESTIMATORS.find(self.advantage.estimator).critic

    @property
    def critic_lora(self) -> LoraSettings | None:
        """The critic's adapters, or None where all of its weights are trained."""
        return self.lora if self.lora and self.lora.critic else None

    def as_json(self) -> dict[str, Any]:
        """Return all settings, defaults included."""
        settings: dict[str, Any] = asdict(self)
        # Earlier runs have no such keys; without them these runs can be resumed.
        for table in ("advantage", "filter", "loss"):
            if not settings[table]["settings"]:
                del settings[table]["settings"]
        if self.loss.policy == "ppo":
            del settings["loss"]["policy"]
        return settings

    def _most_steps(self, envs: Iterable[str]) -> int:
        """Return the most steps of an iteration, from the environments of its instances."""
        # Each environment has its share of the instances, and the filter leaves a share of that.
        groups = sum(self.filter.max_groups(instances) for instances in Counter(envs).values())
        return self.updates * math.ceil(groups * self.rollouts.samples / self.mini_batch)

    def _problems(self) -> Iterator[str | None]:
        """Yield what is wrong with settings that have their types and bounds, or None."""
        yield checks.of_groups(self.envs, self.rollouts, self.filter)
        yield checks.of_mixture(self.envs, self.mixture, self.advantage, self.rollouts)
        yield checks.of_schedule("optimiser", self.optimiser, self.most_steps)
        yield checks.of_schedule("critic", self.critic, self.most_steps)
        yield checks.of_advantage(self.advantage)
        yield checks.of_aggregation(self.loss)
        yield checks.of_thoughts(
            self.shaping, self.diagnostics, self.response_format, self.rollouts
        )
        yield checks.of_adaptation(self.monitor, self.rollouts.temperature, self.updates)
        yield checks.of_ahead(self.cluster, self.correction, self.monitor)


_RECIPE: TypeAdapter[Recipe] = TypeAdapter(Recipe)


def read_recipe(place: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Return a recipe by its name.

    Args:
        place: a TOML file or a recipe of the package, see `ragen_starpo.recipes.files.settings_of`.
        overrides: `name=value` or `table.name=value`, the value as TOML has it or a bare text.

    Raises:
        UserError: if there is none, or with the first setting that cannot be, and why.
    """
    settings = settings_of(str(place))
    for setting in overrides:
        override(settings, setting)
    settings.setdefault("name", Path(place).name.removesuffix(".toml"))
    return recipe_of(settings, str(place))


def recipe_of(settings: dict[str, Any], place: str) -> Recipe:
    """Return settings as a recipe.

    Args:
        settings: tables as dictionaries.
        place: where they come from, for the message.

    Raises:
        UserError: with the first setting that cannot be, and why.
    """
    try:
        return _RECIPE.validate_python(settings)
    except ValidationError as error:
        raise UserError(f"{place}: {first_problem(Recipe, error)}") from None
