"""What a training run is told: one small file, checked before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from ragen_bench.errors import UserError
from ragen_envs.protocol import ResponseFormat
from ragen_starpo.algorithms.filters import GroupFilter
from ragen_starpo.algorithms.losses import Aggregation, Clip, KLEstimator
from ragen_starpo.diagnostics.monitor import MonitorSettings
from ragen_starpo.engine.settings import Lora, OptimiserSettings
from ragen_starpo.hardware import Cluster
from ragen_starpo.recipes.bounds import beyond_bounds
from ragen_starpo.recipes.checks import problem_of
from ragen_starpo.recipes.files import override, settings_of
from ragen_starpo.recipes.problems import first_problem
from ragen_starpo.rollout.training_envs import Environment

Estimator: TypeAlias = Literal[
    "gae", "bi-level-gae", "grpo", "dr-grpo", "rloo", "reinforce-plus-plus"
]
WITH_CRITIC: tuple[Estimator, ...] = ("gae", "bi-level-gae")
_STRICT = ConfigDict(extra="forbid", strict=False)


@checked(frozen=True, config=_STRICT)
class Rollouts:
    """How trajectories are sampled.

    Attributes:
        instances: prompts of an iteration (P of the paper, section 4.1).
        samples: rollouts of each (N).
        temperature: of the sampling, above 0.
        max_tokens: of one answer.
        context: tokens of a whole trajectory; None for what the model takes.
    """

    instances: int = 8
    samples: int = 16
    temperature: float = 1.0
    max_tokens: int = 200
    context: int | None = None


@checked(frozen=True, config=_STRICT)
class Advantage:
    """How returns become advantages, see `ragen_starpo.algorithms.advantages`.

    Attributes:
        estimator: which; `gae` and `bi-level-gae` train a critic too.
        credit: whether a reward stands at the end of its turn or, as one return, at the end of the
            trajectory. The estimators that compare returns know the whole return only, and
            `bi-level-gae` wants `turn`.
        gamma: discount a token.
        lam: lambda of both levels of GAE.
        gamma_turn: discount a turn, of `bi-level-gae`.
    """

    estimator: Estimator = "gae"
    credit: Literal["trajectory", "turn"] = "trajectory"
    gamma: float = 1.0
    lam: float = 1.0
    gamma_turn: float = 0.95


@checked(frozen=True, config=_STRICT)
class Loss:
    """The policy's loss, see `ragen_starpo.algorithms.losses`.

    Attributes:
        clip_low: below 1.
        clip_high: above 1.
        dual_clip: at negative advantages; None for none.
        kl: weight of the divergence from the model that training began with; 0 keeps no reference.
            StarPO has 0.001, StarPO-S 0.
        kl_estimator: by which its value is told; its gradient is that of k2 with all of them, see
            `ragen_starpo.algorithms.losses.kl_penalty`.
        entropy: weight of the entropy bonus.
        aggregation: how losses of tokens become one.
        horizon: the constant number of tokens by which `seq-mean-token-sum-norm` divides, and no
            other aggregation.
        value_clip: how far a value may move in an iteration.
    """

    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float | None = 3.0
    kl: float = 0.0
    kl_estimator: KLEstimator = "k1"
    entropy: float = 0.001
    aggregation: Aggregation = "token-mean"
    horizon: int | None = None
    value_clip: float = 0.5

    def __post_init__(self) -> None:
        self.clip  # noqa: B018 - it checks the bounds

    @property
    def clip(self) -> Clip:
        """The bounds of the ratio."""
        return Clip(self.clip_low, self.clip_high, self.dual_clip)


@checked(frozen=True, config=_STRICT)
class Shaping:
    """Weights of what is added to an environment's reward, see `ragen_starpo.rollout.shaping`.

    Each turn earns the terms of thoughts anew, so a run that ends late could earn more than one
    that ends well: let `turn_cost` be at least the sum of their weights.

    Attributes:
        format_penalty: taken off in a turn whose answer is not in form.
        turn_cost: taken off in every turn.
        plan_agreement: added in a turn whose answer follows the plan in its thought, taken off
            where it does another thing.
        true_claims: times how far what a turn's thought says of places is true, from -1 to 1.
    """

    format_penalty: float = 0.0
    turn_cost: float = 0.0
    plan_agreement: float = 0.0
    true_claims: float = 0.0

    def __post_init__(self) -> None:
        for name, weight in vars(self).items():
            if not 0 <= weight < math.inf:
                raise ValueError(f"{name} is a number of at least 0, got {weight}")

    @property
    def reads_thoughts(self) -> bool:
        """Whether a term reads thoughts."""
        return bool(self.plan_agreement or self.true_claims)


@checked(frozen=True, config=_STRICT)
class Validation:
    """How held-out success is measured, by the harness.

    Attributes:
        every: iterations; the model that training begins with and the last one are measured too.
            0 for never.
        instances: of the val split, of each environment; all of one that has fewer.
        temperature: of the answers; the paper has 0.5.
    """

    every: int = 10
    instances: int = 256
    temperature: float = 0.5


@checked(frozen=True, config=_STRICT)
class Recipe:
    """A training run.

    Attributes:
        model: a folder that transformers reads, a name that the hub knows, or `smollm2-135m`.
        envs: ids, taken in turn, an iteration's instances from all of them; where their number does
            not divide, the next iteration begins with the next one. The filter keeps its share of
            each one's groups.
        response_format: of the answers.
        iterations: of rollouts and updates.
        updates: passes over the rollouts of an iteration (online-k).
        mini_batch: the most trajectories of one step of the optimiser; a pass over an iteration's
            takes as few steps as that allows, of equal sizes but for one trajectory.
        micro_batch: trajectories that are computed at once; decides memory, and no figure.
        checkpoint_every: iterations; 0 for none but the one after the last iteration.
        give_up_after: iterations in a row in which the filter leaves nothing.
        seed: of instances, noise, sampling and the order of updates; below 2**30, where instances
            of demonstrations begin.
    """

    model: str
    envs: tuple[str, ...]
    response_format: ResponseFormat = "think"
    iterations: int = 200
    updates: int = 1
    mini_batch: int = 32
    micro_batch: int = 8
    checkpoint_every: int = 50
    give_up_after: int = 5
    seed: int = 0
    rollouts: Rollouts = field(default_factory=Rollouts)
    advantage: Advantage = field(default_factory=Advantage)
    filter: GroupFilter = field(default_factory=GroupFilter)
    loss: Loss = field(default_factory=Loss)
    shaping: Shaping = field(default_factory=Shaping)
    optimiser: OptimiserSettings = field(default_factory=lambda: OptimiserSettings(1e-6))
    critic: OptimiserSettings = field(default_factory=lambda: OptimiserSettings(1e-5))
    lora: Lora | None = None
    validation: Validation = field(default_factory=Validation)
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    environment: Environment = field(default_factory=Environment)
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def most_steps(self) -> int:
        """The most steps that the optimiser can take in the whole run."""
        # Each environment has its share of the instances, and the filter leaves a share of that.
        each, more = divmod(self.rollouts.instances, len(self.envs))
        groups = more * self.filter.most(each + 1)
        groups += (len(self.envs) - more) * self.filter.most(each)
        learned = groups * self.rollouts.samples
        return self.iterations * self.updates * math.ceil(learned / self.mini_batch)

    def as_json(self) -> dict[str, Any]:
        """Return all settings, defaults included."""
        found: dict[str, Any] = asdict(self)
        return found


_RECIPE: TypeAdapter[Recipe] = TypeAdapter(Recipe)


def read_recipe(place: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Return a recipe by its name.

    Args:
        place: a TOML file or a recipe of the package, see `recipe_files.settings_of`.
        overrides: `name=value` or `table.name=value`, the value as TOML has it or a bare text.

    Raises:
        UserError: if there is none, or with the first setting that cannot be, and why.
    """
    settings = settings_of(str(place))
    for given in overrides:
        override(settings, given)
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
        recipe = _RECIPE.validate_python(settings)
    except ValidationError as error:
        raise UserError(f"{place}: {first_problem(Recipe, error)}") from None
    problem = beyond_bounds(recipe) or problem_of(recipe)
    if problem:
        raise UserError(f"{place}: {problem}")
    return recipe
