"""The definition of a study: its question, its arms, and the claims with their rules."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ragen_bench.errors import UserError, unknown
from ragen_envs.core.protocol import ResponseFormat
from ragen_starpo.recipes.recipe import describe_error
from ragen_starpo.recipes.sections import (
    STRICT,
    Count,
    Finite,
    NonNegative,
    Positive,
    Share,
    UpToHeldOut,
)


class Metric(NamedTuple):
    """A metric of a run; one without a heading has no column in the tables.

    The unit is `percent` for a rate of episodes or runs, `rank` for a rank correlation. A run needs
    `test` or `val` success, the mutual `information` of thoughts, or `thoughts` at all. The table
    of runs has the column too if `per_run` is True.
    """

    unit: Literal["percent", "rank", "number"]
    heading: str = ""
    needs: Literal["", "test", "val", "information", "thoughts"] = ""
    per_run: bool = True


METRICS = {
    "start": Metric("percent", "start", "val"),
    "best": Metric("percent", "best", "val"),
    "last": Metric("percent", "last", "val"),
    "rise": Metric("percent", needs="val"),
    "gain": Metric("percent", needs="val"),
    "fall": Metric("percent", needs="val"),
    "test_start": Metric("percent", "test before", "test"),
    "test": Metric("percent", "test", "test"),
    "test_gain": Metric("percent", "test gain", "test"),
    "rollouts_start": Metric("percent", "rollouts at first"),
    "rollouts_best": Metric("percent", "rollouts at best"),
    "rollouts_last": Metric("percent", "rollouts at last"),
    "rollouts_rise": Metric("percent"),
    "rollouts_mean": Metric("percent", "rollouts on average"),
    "collapsed": Metric("percent", "collapsed", per_run=False),
    "collapse_iteration": Metric("number", "collapse at"),
    "warned": Metric("percent"),
    "warning_right": Metric("percent"),
    "warning_lead": Metric("number"),
    "deviation_lead": Metric("number"),
    "entropy_lead": Metric("number"),
    "gradient_lead": Metric("number"),
    "trained_tokens": Metric("number", "trained tokens", per_run=False),
    "generated_tokens": Metric("number"),
    "environment_turns": Metric("number", "turns", per_run=False),
    "seconds": Metric("number", "seconds"),
    "tokens_to_target": Metric("number", "tokens to target", "val", per_run=False),
    "information_rank": Metric("rank", "rank of information", "information"),
    "entropy_rank": Metric("rank", "rank of entropy", "information"),
    "rank_gain": Metric("rank", "information less entropy", "information"),
    "information_last": Metric("number", "information at last", "information"),
    "failures_alike": Metric("percent", "failures alike", "test"),
    "thought_length_start": Metric("number", "thoughts at first", "thoughts"),
    "thought_length_last": Metric("number", "thoughts at last", "thoughts"),
    "thought_length_fall": Metric("number", needs="thoughts"),
    "agreement_start": Metric("percent", "plan ok before", "test"),
    "agreement": Metric("percent", "plan ok", "test"),
    "agreement_gain": Metric("percent", needs="test"),
    "truth_start": Metric("percent", "true before", "test"),
    "truth": Metric("percent", "true", "test"),
    "truth_gain": Metric("percent", needs="test"),
}
"""Metrics by name, in the order of the tables' columns. Their values are computed in
`ragen_starpo.studies.run_metrics` and `ragen_starpo.studies.outcomes`."""
BY_INSTANCE = ("test", "test_gain")
"""Metrics with a value for each test instance, so that intervals cover instances too."""
BY_ENV = (*BY_INSTANCE, "failures_alike")
"""Metrics with a value for each test environment."""


CATALOGUE = Path(__file__).parent / "catalogue"
"""The studies that come with the package."""

Scale: TypeAlias = Literal["small", "gpu"]
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
"""Names of arms and models, which are folders too."""
Seeds: TypeAlias = Annotated[int, Field(ge=2, description="at least 2")]


@dataclass(frozen=True, config=STRICT)
class Model:
    """A small model that arms begin with, trained from scratch for each seed.

    Attributes:
        envs: Environments of the warm start.
        response_format: Format of its responses. With `think` its arms use the recipe
            `small-think`.
        bandit: Make a model that reads the two arms of a Bandit instead of boards.
    """

    envs: tuple[str, ...]
    response_format: ResponseFormat = "answer"
    bandit: bool = False
    width: Count = 96
    layers: Count = 3
    player: Literal["oracle", "random"] = "oracle"
    episodes: Count = 500
    epochs: Count = 5
    batch: Count = 32
    learning_rate: Positive = 2e-3
    max_tokens: Count = 14


@dataclass(frozen=True, config=STRICT)
class Arm:
    """A variant of training that the study compares.

    Attributes:
        model: Name of the study's model that it begins with at the scale `small`.
        rows: Rows of `ragen-train recipes`, joined by `+`; empty for the recipe of the scale.
        envs: Environments of the test; empty for those of the training.
    """

    model: str
    rows: str = ""
    settings: tuple[str, ...] = ()
    envs: tuple[str, ...] = ()


@dataclass(frozen=True, config=STRICT)
class Claim:
    """A claim of the papers with the rule that judges it, fixed before the runs.

    It holds if the mean of `figure` over the arms `plus`, less that over the arms `minus`, is above
    the margin.

    Attributes:
        text: The claim in words.
        source: Paper, and its figure, table or section.
        figure: Name of the compared metric, see `ragen_starpo.studies.study`.
        plus: Arms whose metric is claimed to be higher.
        minus: Arms to compare with; without any, the comparison is with 0.
        margin: Margin of the difference, in the metric's unit.
        among: With `collapsed`, the claim is about the runs of `plus` that collapsed: their mean,
            averaged by seed, must be above the margin.
        env: Test environment whose `test` or `test_gain` is judged, or whose failures are compared
            with those of the first environment; empty for the mean over environments.
    """

    text: str
    source: str
    figure: str
    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()
    margin: Finite = 0.0
    among: Literal["all", "collapsed"] = "all"
    env: str = ""


@dataclass(frozen=True, config=STRICT)
class Study:
    """A question, the runs that answer it, and the claims that are judged together.

    Attributes:
        settings: Recipe settings of all arms, by scale.
        models: Models of the scale `small`, by name.
        seeds: Number of seeds of each arm.
        first_seed: The first seed. A pilot, which chooses settings, uses other seeds than the study
            that uses them.
        test_instances: Number of test instances for each trained model; 0 skips the test, as for a
            Bandit, whose held-out arms a small model does not know.
        test_first: Test the first model too. Models that think are always tested first.
        target: Success on val that `tokens_to_target` refers to.
        name: Name of the study's file.
    """

    question: str
    settings: dict[Scale, tuple[str, ...]]
    arms: dict[str, Arm]
    claims: tuple[Claim, ...]
    models: dict[str, Model] = field(default_factory=dict)
    seeds: Seeds = 5
    first_seed: NonNegative = 0
    test_instances: UpToHeldOut = 256
    test_first: bool = False
    target: Share | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for problem in self._problems_of_arms():
            raise ValueError(problem)
        for number, claim in enumerate(self.claims, 1):
            for problem in self._problems_of_claim(claim):
                raise ValueError(f"claim {number}: {problem}")

    def seed_range(self, seeds: int) -> range:
        """Return the first `seeds` seeds."""
        return range(self.first_seed, self.first_seed + seeds)

    def claims_about(self, arm: str) -> list[tuple[int, Claim]]:
        """Return the claims that involve an arm, with their numbers from 1."""
        return [
            (number, claim)
            for number, claim in enumerate(self.claims, 1)
            if arm in (*claim.plus, *claim.minus)
        ]

    def _problems_of_claim(self, claim: Claim) -> Iterator[str]:
        name = claim.figure
        if name not in METRICS:
            yield str(unknown("figure", name, METRICS))
            return
        for arm in (*claim.plus, *claim.minus):
            if arm not in self.arms:
                yield str(unknown("arm", arm, self.arms))
        if both := set(claim.plus) & set(claim.minus):
            yield f"{min(both)} is on both sides"
        if not claim.plus:
            yield "plus names no arm"
        if claim.among == "collapsed" and (claim.minus or name in BY_INSTANCE):
            yield f"among=collapsed takes neither minus nor {name}"
        if claim.env and name not in BY_ENV:
            yield f"env is for {', '.join(BY_ENV)}"
        if name in ("test_start", "test_gain") and not self._tests_first(claim):
            yield f"{name} needs test_first = true"
        if METRICS[name].needs == "test" and not self.test_instances:
            yield f"{name} needs test_instances above 0"
        if name == "tokens_to_target" and self.target is None:
            yield "tokens_to_target needs the study's target"

    def _tests_first(self, claim: Claim) -> bool:
        """Return whether the first models of a claim's arms are tested."""
        arms = [self.arms[name] for name in (*claim.plus, *claim.minus) if name in self.arms]
        models = [self.models[arm.model] for arm in arms if arm.model in self.models]
        return self.test_first or all(model.response_format == "think" for model in models)

    def _problems_of_arms(self) -> Iterator[str]:
        for name in (*self.arms, *self.models):
            if not _NAME.fullmatch(name):
                yield f"{name!r} is not a valid name; use lower-case letters, digits and hyphens"
        for name, arm in self.arms.items():
            if arm.model not in self.models:
                yield f"arms.{name}.model: {unknown('model', arm.model, self.models)}"
        groups = (*(arm.settings for arm in self.arms.values()), *self.settings.values())
        for setting in chain.from_iterable(groups):
            if setting.partition("=")[0] in ("seed", "model"):
                yield f"{setting}: the study sets seeds and models itself; remove this setting"


_STUDY: TypeAdapter[Study] = TypeAdapter(Study)


def list_studies() -> list[str]:
    """Return the names of the package's studies."""
    return sorted(path.stem for path in CATALOGUE.glob("*.toml"))


def read_study(name: str) -> Study:
    """Return the study of a name or a TOML file's path; UserError if missing or invalid."""
    path = CATALOGUE / f"{name}.toml" if name in list_studies() else Path(name)
    if path.suffix != ".toml":
        raise unknown("study", name, list_studies())
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise UserError(f"there is no study {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not a TOML file: {error}") from None
    content.setdefault("name", path.stem)
    try:
        return _STUDY.validate_python(content)
    except ValidationError as error:
        raise UserError(f"{path}: {describe_error(Study, error)}") from None
