"""The recipe: all settings of a training run, checked before anything is loaded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, field, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from ragen_bench.errors import UserError, nearest
from ragen_bench.json_types import JsonObject
from ragen_envs.core.protocol import ResponseFormat
from ragen_starpo.algorithms.registry import ESTIMATORS
from ragen_starpo.recipes.bounds import STRICT, Count, NonNegative, Seed
from ragen_starpo.recipes.checks import find_problems
from ragen_starpo.recipes.files import override, read_settings
from ragen_starpo.recipes.run_sections import (
    ClusterSettings,
    DiagnosticsSettings,
    EnvironmentSettings,
    LoraSettings,
    MonitorSettings,
    OptimiserSettings,
    RecordSettings,
    ValidationSettings,
)
from ragen_starpo.recipes.sections import (
    AdvantageSettings,
    CorrectionSettings,
    FilterSettings,
    LossSettings,
    MixtureSettings,
    RolloutSettings,
    ShapingSettings,
)

_LATER = {
    "advantage": ("settings",),
    "rollouts": ("refills",),
    "filter": ("settings", "reweight"),
    "loss": ("settings", "policy", "kl_ratio", "mask_truncated", "sequence", "mask_void_turns"),
    "correction": ("reject", "reject_low", "reject_high"),
    "shaping": ("overlong_buffer", "overlong_penalty"),
    "monitor": ("refills",),
}
"""Settings that later versions added, by table; as JSON they are left out at their defaults."""
COMMAND_LINE = "on the command line"
"""The source of an override in the message of an invalid one."""
_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")
"""pydantic's error types for a bound."""


@dataclass(frozen=True, config=STRICT)
class Recipe:
    """The settings of a training run.

    Attributes:
        model: A folder that transformers reads, a name on the hub, or `smollm2-135m`.
        envs: Ids, each once. Instances cycle through them in proportion to their shares in
            `mixture`, continuing across iterations. The filter applies to each separately.
        name: Name of the run in reports and trackers; by default the name of the recipe.
        response_format: Format of the responses.
        iterations: Number of iterations.
        updates: Passes over the rollouts of an iteration (online-k).
        mini_batch: Maximum trajectories per optimiser step. A pass takes the fewest steps.
        micro_batch: Sequences per forward pass. It affects memory, not results.
        micro_batch_tokens: Tokens per forward pass, padding included, instead of a number of
            sequences; at least those of the longest sequence. None to count sequences.
        checkpoint_every: Iterations between checkpoints; 0 for one after the last iteration.
        give_up_after: Consecutive iterations in which the filter keeps nothing before the run ends.
        seed: Seed of instances, noise, sampling and the order of updates.
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
        for problem in find_problems(self):
            raise ValueError(problem)

    @property
    def env_cycle(self) -> list[str]:
        """The environments of consecutive instances, repeated after the last one."""
        shares = [self.mixture.shares.get(env, 1) for env in self.envs]
        return [self.envs[place] for place in interleave(shares)]

    @property
    def max_steps(self) -> int:
        """Maximum optimiser steps of the run."""
        size, envs = self.rollouts.instances, self.env_cycle
        # The steps of an iteration depend on its start in the cycle.
        steps = []
        for start in range(0, math.lcm(size, len(envs)), size):
            instances = Counter(envs[number % len(envs)] for number in range(start, start + size))
            groups = sum(map(self.filter.max_groups, instances.values()))
            mini_batches = math.ceil(groups * self.rollouts.samples / self.mini_batch)
            steps.append(self.updates * mini_batches)
        cycles, rest = divmod(self.iterations, len(steps))
        return cycles * sum(steps) + sum(steps[:rest])

    @property
    def has_critic(self) -> bool:
        """Whether the advantage estimator trains a critic."""
        return ESTIMATORS.find(self.advantage.estimator).critic

    @property
    def most_refills(self) -> int:
        """The most rounds of further prompts that an iteration of the run can have."""
        return max(self.rollouts.refills, self.monitor.refills)

    @property
    def critic_lora(self) -> LoraSettings | None:
        """The critic's adapters; None to train all of its weights."""
        return self.lora if self.lora and self.lora.critic else None

    def find_code(self) -> Iterator[tuple[str, str]]:
        """Yield the settings that name code, and the code: MODULE:FUNCTION or MODULE:ID."""
        if self.shaping.python:
            yield "shaping.python", self.shaping.python
        yield from (("envs", env) for env in self.envs if ":" in env)

    def as_json(self) -> JsonObject:
        """Return all settings, defaults included."""
        settings: JsonObject = asdict(self)
        # Runs of earlier versions lack these keys, and resume only without them.
        for table, names in _LATER.items():
            default = asdict(type(getattr(self, table))())
            for name in names:
                if settings[table][name] == default[name]:
                    del settings[table][name]
        return settings


_RECIPE: TypeAdapter[Recipe] = TypeAdapter(Recipe)


def read_recipe(place: Path | str, overrides: Sequence[str] = (), *, trust: bool = False) -> Recipe:
    """Read a recipe by its name.

    Args:
        place: A TOML file or a recipe of the package, see `files.read_settings`.
        overrides: `name=value` or `table.name=value`; the value is TOML or plain text.
        trust: Accept a file that names code to run. Overrides may always name some.

    Raises:
        UserError: The recipe does not exist, names code, or a setting is invalid.
    """
    settings = read_settings(str(place))
    for setting in overrides:
        override(settings, setting)
    settings.setdefault("name", Path(place).name.removesuffix(".toml"))
    recipe = recipe_of(settings, str(place), overrides)
    typed = {setting.partition("=")[0] for setting in overrides}
    for name, code in recipe.find_code():
        if not (trust or typed & {name, name.partition(".")[0]}):
            raise UserError(
                f"{place} runs code, {name}={code}: read that first, then add --trust (in Python, "
                "read_recipe(..., trust=True))"
            )
    return recipe


def recipe_of(settings: JsonObject, place: str, overrides: Sequence[str] = ()) -> Recipe:
    """Validate settings; the UserError of an invalid one begins with its source.

    That is `place`, or for an override the command line.
    """
    try:
        return _RECIPE.validate_python(settings)
    except ValidationError as error:
        source = _find_source(place, overrides, [str(part) for part in error.errors()[0]["loc"]])
        raise UserError(f"{source}: {describe_error(Recipe, error)}") from None


def _find_source(place: str, overrides: Sequence[str], path: Sequence[str]) -> str:
    """Return the source of the setting at a path; without a path all sources."""
    for setting in reversed(overrides):
        names = setting.partition("=")[0].split(".")
        if path and names[: len(path)] == list(path)[: len(names)]:
            return COMMAND_LINE
    return place if path else " with ".join((place, *overrides))


def interleave(shares: Sequence[int]) -> list[int]:
    """Return the cycle in which environments take instances, as indices of `shares`.

    After N instances each has had its proportion of N, rounded down or up (the quota method,
    Balinski and Young 1975). Ties go to the earlier one.
    """
    total, counts = sum(shares), [0] * len(shares)
    cycle: list[int] = []
    for number in range(1, total + 1):
        # One more would exceed the proportion, rounded up, of any other.
        below = [n for n, share in enumerate(shares) if counts[n] * total < number * share]
        place = max(below, key=lambda n: Fraction(shares[n], counts[n] + 1))
        counts[place] += 1
        cycle.append(place)
    return cycle


def describe_error(recipe: type, error: ValidationError) -> str:
    """Describe the first invalid setting of a dataclass; for an unknown one, suggest another."""
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    name, message = ".".join(path), first["msg"].removeprefix("Value error, ")
    if not path:
        return message if first["type"] == "value_error" else f"the recipe: {message}"
    if first["type"] == "unexpected_keyword_argument":
        tables = [part for part in first["loc"][:-1] if isinstance(part, str)]
        return f"{name}: there is no such setting; {_suggest(recipe, tables, path[-1])}"
    if first["type"] in _BOUNDS:
        names = [part for part in first["loc"] if isinstance(part, str)]
        bounds = _bounds(recipe, names)
        # Format the number like its bound: 0.0 for a temperature of 0.
        kind = next((type(bound) for bound in first.get("ctx", {}).values()), float)
        return f"{name}: is {bounds}, got {kind(first['input'])}"
    if first["type"] == "tuple_type":
        items = '["A", "B"]' if isinstance(first["input"], str) else "[1, 2]"
        shown = f"in a shell '{name}={items}' with its quotes"
        return f"{name}: is a list, {shown}, got {first['input']!r}"
    if first["type"] == "dataclass_type":
        return f"{name}: is a table of settings, as {name}.NAME=VALUE, got {first['input']!r}"
    return f"{name}: {message}"


def _bounds(recipe: type, names: Sequence[str]) -> str:
    section = recipe
    for name in names:
        hint = get_type_hints(section, include_extras=True)[name]
        inner = _dataclass_in(hint)
        if inner is None:
            break
        section = inner
    return next(info.description for info in _field_infos(hint) if info.description)


def _field_infos(hint: object) -> Iterator[FieldInfo]:
    for metadata in getattr(hint, "__metadata__", ()):
        if isinstance(metadata, FieldInfo):
            yield metadata
    for inner in get_args(hint):
        yield from _field_infos(inner)


def _suggest(recipe: type, tables: Sequence[str], name: str) -> str:
    section = recipe
    for table in tables:
        # Names of arms and other keys of a dictionary are no fields.
        section = _dataclass_in(get_type_hints(section).get(table)) or section
    known = [field.name for field in fields(section)]
    inside = [] if tables else list(_find_in_tables(recipe, name))
    if inside:
        return f"did you mean {' or '.join(inside)}?"
    meant = next((one for one in known if _initials(one) == name), nearest(name, known))
    if meant:
        return f"did you mean {'.'.join([*tables, meant])}?"
    return f"{'.'.join(tables) or 'a recipe'} has: {', '.join(known)}"


def _find_in_tables(recipe: type, name: str) -> Iterator[str]:
    """Yield the settings of tables that have a name, or its initials."""
    for table, hint in get_type_hints(recipe).items():
        section = _dataclass_in(hint)
        for setting in fields(section) if section else ():
            if name in (setting.name, _initials(setting.name)):
                yield f"{table}.{setting.name}"


def _initials(name: str) -> str:
    """Return the initials of a name of several words, as lr of learning_rate; else ""."""
    return "".join(word[0] for word in name.split("_")) if "_" in name else ""


def _dataclass_in(hint: object) -> type | None:
    kinds = (kind for kind in (hint, *get_args(hint)) if isinstance(kind, type))
    return next((kind for kind in kinds if is_dataclass(kind)), None)
