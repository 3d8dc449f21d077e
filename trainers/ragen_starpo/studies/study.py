"""A study as its file has it: the question, the arms, and the rules of its verdicts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ragen_bench.errors import UserError, unknown
from ragen_envs.core.protocol import ResponseFormat
from ragen_starpo.recipes.problems import first_problem
from ragen_starpo.recipes.sections import (
    STRICT,
    Count,
    Finite,
    NonNegative,
    Positive,
    Share,
    UpToHeldOut,
)

CATALOGUE = Path(__file__).parent / "catalogue"
"""The studies that come with the package."""

Scale: TypeAlias = Literal["small", "gpu"]
Figure: TypeAlias = Literal[
    "test",
    "test_start",
    "test_gain",
    "start",
    "best",
    "last",
    "rise",
    "gain",
    "fall",
    "rollouts_start",
    "rollouts_best",
    "rollouts_last",
    "rollouts_rise",
    "rollouts_mean",
    "collapsed",
    "collapse_iteration",
    "warned",
    "warning_right",
    "warning_lead",
    "deviation_lead",
    "entropy_lead",
    "gradient_lead",
    "information_rank",
    "entropy_rank",
    "rank_gain",
    "information_last",
    "thought_length_start",
    "thought_length_last",
    "thought_length_fall",
    "trained_tokens",
    "generated_tokens",
    "environment_turns",
    "seconds",
    "tokens_to_target",
    "agreement_start",
    "agreement",
    "agreement_gain",
    "truth_start",
    "truth",
    "truth_gain",
    "failures_alike",
]
"""What a claim may be about: see `ragen_starpo.studies.outcomes`."""
OF_TEST: tuple[Figure, ...] = (
    *("test", "test_start", "test_gain"),
    *("agreement_start", "agreement", "agreement_gain"),
    *("truth_start", "truth", "truth_gain"),
    "failures_alike",
)
"""What is measured on the test split."""
OF_FAILURES: tuple[Figure, ...] = ("failures_alike",)
"""What is measured in the causes of failures there."""
OF_VAL: tuple[Figure, ...] = ("start", "best", "last", "rise", "gain", "fall", "tokens_to_target")
"""What is measured on the val split."""
OF_INFORMATION: tuple[Figure, ...] = (
    *("information_rank", "entropy_rank", "rank_gain", "information_last"),
)
"""What is measured in the thoughts of rollouts."""
OF_LENGTH: tuple[Figure, ...] = (
    *("thought_length_start", "thought_length_last", "thought_length_fall"),
)
"""What is measured where models think."""
BY_INSTANCE: tuple[Figure, ...] = ("test", "test_gain")
"""What is known of each test instance, so that intervals are over these too."""
BY_ENV: tuple[Figure, ...] = (*BY_INSTANCE, *OF_FAILURES)
"""What is known of each environment that a model is tested in."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
"""Of arms and models, which are folders too."""
Seeds: TypeAlias = Annotated[int, Field(ge=2, description="at least 2")]


@dataclass(frozen=True, config=STRICT)
class Model:
    """A small model that arms begin with, made from nothing for each seed.

    Attributes:
        envs: whose episodes it learns from.
        response_format: of its answers; with `think` its arms take the scale `small-think`.
        bandit: whether it reads the two arms of a Bandit in place of boards.
        width, layers: its size, as of `ragen-train small-model`.
        player, episodes, epochs, batch, learning_rate, max_tokens: of the warm start.
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
    """One of the things that are compared.

    Attributes:
        rows: of `ragen-train recipes`, joined by `+`; empty for the scale as it is.
        settings: in place of the recipe's, after those of the study.
        model: at `small`, which of the study's models it begins with.
        envs: that it is tested in when it is trained; empty for those that it trains in.
    """

    model: str
    rows: str = ""
    settings: tuple[str, ...] = ()
    envs: tuple[str, ...] = ()


@dataclass(frozen=True, config=STRICT)
class Claim:
    """A claim of the papers with the rule by which it is judged, fixed before the runs.

    It holds where the mean of `figure` over the arms `plus`, less that over the arms `minus`, is
    above the margin.

    Attributes:
        text: what is claimed.
        source: paper, and its figure, table or section.
        figure: that is compared.
        plus: arms; the claim is that their figure is the higher one.
        minus: arms; none compares with 0.
        margin: above which the difference counts; in the figure's unit.
        among: `collapsed` judges the runs of `plus` that collapsed: the mean of the figure over
            them, averaged by seed, is to be above the margin.
        env: of those that arms are tested in, the one whose `test` or `test_gain` is judged, or
            whose failures are compared with those in the first one; empty for the mean of all.
    """

    text: str
    source: str
    figure: Figure
    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()
    margin: Finite = 0.0
    among: Literal["all", "collapsed"] = "all"
    env: str = ""


@dataclass(frozen=True, config=STRICT)
class Study:
    """A question, what is run to answer it, and how it is answered.

    Attributes:
        question: that it asks.
        settings: of the recipe in all arms, by scale.
        arms: by name.
        claims: that are judged together.
        models: of the scale `small`, by name.
        seeds: of each arm.
        first_seed: from which on they count. A pilot, by which settings are chosen, has others than
            the study that is run with them.
        test_instances: of the test split, that each trained model is scored on; 0 scores none, as
            of a Bandit, whose held-out arms a small model knows nothing of.
        test_first: whether the model that training begins with is scored too, as those that think.
        target: success on val, for `tokens_to_target`.
        name: of its file.
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
        for problem in self._problems():
            raise ValueError(problem)

    def numbered(self, seeds: int) -> range:
        """Return so many seeds."""
        return range(self.first_seed, self.first_seed + seeds)

    def claims_about(self, arm: str) -> list[tuple[int, Claim]]:
        """Return the claims that an arm is on a side of, with their numbers from 1."""
        return [
            (number, claim)
            for number, claim in enumerate(self.claims, 1)
            if arm in (*claim.plus, *claim.minus)
        ]

    def _problems(self) -> Iterator[str]:
        yield from self._problems_of_arms()
        for number, claim in enumerate(self.claims, 1):
            for arm in (*claim.plus, *claim.minus):
                if arm not in self.arms:
                    yield f"claim {number}: {unknown('arm', arm, self.arms)}"
            if both := set(claim.plus) & set(claim.minus):
                yield f"claim {number}: {min(both)} is on both sides"
            if not claim.plus:
                yield f"claim {number}: plus names no arm"
            if claim.among == "collapsed" and (claim.minus or claim.figure in BY_INSTANCE):
                yield f"claim {number}: among=collapsed takes neither minus nor {claim.figure}"
            if claim.env and claim.figure not in BY_ENV:
                yield f"claim {number}: env is for {', '.join(BY_ENV)}"
            if claim.figure in ("test_start", "test_gain") and not self._tests_first(claim):
                yield f"claim {number}: {claim.figure} needs test_first = true"
            if claim.figure in OF_TEST and not self.test_instances:
                yield f"claim {number}: {claim.figure} needs test_instances above 0"
            if claim.figure == "tokens_to_target" and self.target is None:
                yield f"claim {number}: tokens_to_target needs the study's target"

    def _tests_first(self, claim: Claim) -> bool:
        """Return whether the models that a claim's arms begin with are tested."""
        arms = [self.arms[name] for name in (*claim.plus, *claim.minus) if name in self.arms]
        models = [self.models[arm.model] for arm in arms if arm.model in self.models]
        return self.test_first or all(model.response_format == "think" for model in models)

    def _problems_of_arms(self) -> Iterator[str]:
        for name in (*self.arms, *self.models):
            if not _NAME.fullmatch(name):
                yield f"{name!r} cannot be a name; use small letters, digits and hyphens"
        for name, arm in self.arms.items():
            if arm.model not in self.models:
                yield f"arms.{name}.model: {unknown('model', arm.model, self.models)}"
        of_arms = [setting for arm in self.arms.values() for setting in arm.settings]
        for setting in (*of_arms, *(each for some in self.settings.values() for each in some)):
            if setting.partition("=")[0] in ("seed", "model"):
                yield f"{setting}: seeds and models are the study's own; leave it out"


_STUDY: TypeAdapter[Study] = TypeAdapter(Study)


def studies() -> list[str]:
    """Return the names of the package's studies."""
    return sorted(path.stem for path in CATALOGUE.glob("*.toml"))


def read_study(name: str) -> Study:
    """Return a study.

    Args:
        name: of one of the package's, or the path of a TOML file.

    Raises:
        UserError: if there is none, or with the first thing that cannot be.
    """
    path = CATALOGUE / f"{name}.toml" if name in studies() else Path(name)
    if path.suffix != ".toml":
        raise unknown("study", name, studies())
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
        raise UserError(f"{path}: {first_problem(Study, error)}") from None
