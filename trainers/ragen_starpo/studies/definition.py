"""The definition of a study: its task, its arms, and the claims with their rules."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ragen_bench.errors import UserError, unknown
from ragen_bench.json_types import JsonObject
from ragen_bench.reading import read_toml
from ragen_starpo.recipes.bounds import (
    STRICT,
    Count,
    Finite,
    NonNegative,
    Positive,
    ShareBelowOne,
)
from ragen_starpo.recipes.recipe import describe_error

CATALOGUE = Path(__file__).parent / "catalogue"
"""The studies that come with the package."""
GAMES: dict[str, tuple[int, ...]] = {
    "lake": (3, 4),
    "sokoban": (5, 6),
    "bandit": (0,),
    "bandit-rev": (0,),
    "multi-pull": (0,),
    "mastermind": (0,),
}
"""The laboratory's games with the sides of their boards; 0 where there is no board."""
FEW_BOARDS = {("sokoban", 5): 8}
"""Distinct held-out boards of the games that have fewer than 300."""
HELD_OUT = ("test", "gain")
"""The metrics that are measured on held-out boards."""
_TITLES = {
    "lake": "FrozenLake",
    "sokoban": "Sokoban",
    "bandit": "Bandit",
    "bandit-rev": "BanditRev",
    "multi-pull": "BanditMultiPull",
    "mastermind": "Mastermind",
}
CURVES = (
    "success",
    "reward_deviation",
    "entropy",
    "grad_norm",
    "clip_fraction",
    "covariance_fraction",
    "kl_from_reference",
    "kl_from_rollouts",
    "kept",
    "void",
    "replaced",
    "rollout_tokens",
    "trained_tokens",
)
"""Curves that a knob may be measured by, see `Knob`."""
GAIN = 15.0
"""Points of success that the reference arm must gain, and whose loss is a collapse."""
WINDOW = 20
"""Iterations of a moving mean. Those of ten fall by `GAIN` by chance in half of the runs of 120
iterations of eight prompts, those of twenty in one of 75."""
MAX_SKILL = 0.8
"""Highest skill of warm starts: above it success cannot rise by `GAIN`."""
LABORATORY = 2
"""Version of the laboratory. A change of its results raises it, and arms are run anew."""
OWN = "this suite"
"""The source of claims that no paper makes."""

Skill: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        le=MAX_SKILL,
        description=f"above 0 and at most {MAX_SKILL}, since the "
        f"reference arm must have {GAIN:g} points to gain",
    ),
]
Iterations: TypeAlias = Annotated[
    int, Field(ge=WINDOW, description=f"at least {WINDOW}, the window of the moving mean")
]
Runs: TypeAlias = Annotated[int, Field(ge=4, description="at least 4")]


class Metric(NamedTuple):
    """A metric of a run: its unit, and whether it is a value of collapsed runs alone."""

    unit: Literal["points", "iterations", "percent"]
    needs_collapse: bool = False


METRICS = {
    "mean": Metric("points"),
    "test": Metric("points"),
    "gain": Metric("points"),
    "best": Metric("points"),
    "last": Metric("points"),
    "collapse_time": Metric("iterations"),
    "collapsed": Metric("percent"),
    "deviation_lead": Metric("iterations", needs_collapse=True),
    "entropy_lead": Metric("iterations", needs_collapse=True),
    "gradient_lead": Metric("iterations", needs_collapse=True),
    "monitor_lead": Metric("iterations", needs_collapse=True),
    "monitor_recall": Metric("percent", needs_collapse=True),
    "monitor_precision": Metric("percent"),
}
"""Metrics by name; `ragen_starpo.studies.metrics` computes them."""


@dataclass(frozen=True, config=STRICT)
class Task:
    """The game of an arm, and the player that its warm starts imitate."""

    game: str  # name of a game in `GAMES`
    size: NonNegative = 0  # side of the board; 0 for a game without one
    slip: ShareBelowOne = 0.0  # chance that a step on the ice goes aside
    groups: Count = 8  # prompts of an iteration
    samples: Count = 16  # rollouts of a prompt
    actions_per_turn: NonNegative = 0  # actions that an answer may name; 0 for the game's own
    skill: Skill = 0.3  # fraction of best moves of the imitated player; its other moves are random
    test: str = ""  # what the last model is tested on, such as `4x4`; empty for the task itself

    @property
    def title(self) -> str:
        """The game's name in the suite, with the side of its board."""
        return _TITLES[self.game] + (f" {self.size}x{self.size}" if self.size else "")

    @property
    def tested_board(self) -> tuple[str, int]:
        """The game and the side of the boards that the last model is tested on."""
        return self.game, int(self.test[0]) if self.test else self.size

    @property
    def full_title(self) -> str:
        """The title, with the ice and the board of the test where they are not the game's own."""
        slips = f" with slips of {self.slip:.2g}" if self.slip else ""
        return self.title + slips + (f", tested on {self.test}" if self.test else "")

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            raise ValueError(str(unknown("game", self.game, GAMES)))
        if self.size not in GAMES[self.game]:
            sizes = " or ".join(map(str, GAMES[self.game]))
            raise ValueError(f"size of {self.game} is {sizes}, got {self.size}")
        boards = [f"{side}x{side}" for side in GAMES[self.game] if side]
        if self.test and self.test not in boards:
            choice = f"one of {', '.join(boards)}" if boards else "left out"
            raise ValueError(f"test of {self.game} is {choice}, got {self.test!r}")
        if self.slip and not 0.001 <= self.slip <= 0.999:
            raise ValueError(f"slip is 0, or from 0.001 to 0.999, got {self.slip:g}")
        if self.slip and self.game != "lake":
            raise ValueError(f"slip is for the lake; remove it from {self.game}")
        if self.actions_per_turn and not boards:
            raise ValueError(
                f"actions_per_turn is for the lake and Sokoban; remove it from {self.game}"
            )


@dataclass(frozen=True, config=STRICT)
class Arm:
    """A variant of training: recipe settings, and fields of the task that differ."""

    settings: tuple[str, ...] = ()
    task: dict[str, object] = field(default_factory=dict)
    iterations: Iterations | None = None


@dataclass(frozen=True, config=STRICT)
class Knob:
    """The bounds of a curve's mean in an arm that show that a claim's knob acts."""

    arm: str
    curve: str
    least: Finite | None = None
    most: Finite | None = None


@dataclass(frozen=True, config=STRICT)
class Claim:
    """A claim of a paper with the rule that judges it.

    The difference is the mean of `metric` over the arms `plus`, less that over `minus`, or less
    the number `than` if there are none.

    Attributes:
        says: The verdict that agrees with the claim.
        about_collapse: Each arm must rise by 15 points, and a quarter of an arm's runs collapse;
            there is one more look.
    """

    text: str  # the claim in words
    paper: str  # paper with its arXiv number, or `OWN`
    metric: str
    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()
    than: Finite = 0.0
    figure: str = ""  # figure, table or section of the paper
    number: str = ""  # the paper's own number, if it gives one
    same: Positive = 3.0  # the largest difference that counts as none (δ), in the metric's unit
    says: Literal["higher", "lower", "the same"] = "higher"
    about_collapse: bool = False
    knob: Knob | None = None  # bounds that show that the knob acts


@dataclass(frozen=True, config=STRICT)
class Study:
    """A question, the arms that answer it, and the claims that are judged together."""

    question: str
    task: Task
    iterations: Iterations
    reference: str  # arm whose success must rise by 15 points for any claim to be tested
    arms: dict[str, Arm]
    claims: tuple[Claim, ...]
    settings: tuple[str, ...] = ()  # recipe settings of all arms
    warm_starts: Runs = 32  # number of models that each arm begins with
    looks: tuple[Count, ...] = (1, 2)  # seeds of a warm start at each look
    collapse_look: Count = 4  # seeds of a warm start at the last look of claims about collapse
    first_seed: NonNegative = 0  # first seed of training; pilots use others than the study
    name: str = ""  # name of the study's file

    def __post_init__(self) -> None:
        from ragen_starpo.studies.checks import find_problems

        for problem in find_problems(self):
            raise ValueError(problem)

    def looks_of(self, claim: Claim) -> tuple[int, ...]:
        """Return the seeds of a warm start at each look of a claim."""
        return (*self.looks, self.collapse_look) if claim.about_collapse else self.looks

    def task_of(self, arm: str) -> Task:
        """Return the task of an arm."""
        return _TASK.validate_python({**asdict(self.task), **self.arms[arm].task})

    def settings_of(self, arm: str) -> tuple[str, ...]:
        """Return the recipe settings of an arm."""
        return (*self.settings, *self.arms[arm].settings)

    def iterations_of(self, arm: str) -> int:
        """Return the number of iterations of an arm."""
        return self.arms[arm].iterations or self.iterations

    def hash_of(self, arm: str) -> str:
        """Return the hash of all that an arm's runs depend on; equal arms have equal ones."""
        facts = {
            "laboratory": LABORATORY,
            "task": asdict(self.task_of(arm)),
            "settings": self.settings_of(arm),
            "iterations": self.iterations_of(arm),
            "warm_starts": self.warm_starts,
            "first_seed": self.first_seed,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


_TASK: TypeAdapter[Task] = TypeAdapter(Task)
_STUDY: TypeAdapter[Study] = TypeAdapter(Study)


def list_studies() -> list[str]:
    """Return the names of the package's studies."""
    return sorted(path.stem for path in CATALOGUE.glob("*.toml"))


def read_study(name: str) -> Study:
    """Return the study of a name or a TOML file's path; UserError if missing or invalid."""
    path = CATALOGUE / f"{name}.toml" if name in list_studies() else Path(name)
    if path.suffix != ".toml":
        raise unknown("study", name, list_studies())
    content = _read_content(path)
    content.setdefault("name", path.stem)
    try:
        return _STUDY.validate_python(content)
    except ValidationError as error:
        raise UserError(f"{path}: {describe_error(Study, error)}") from None


def _read_content(path: Path) -> JsonObject:
    """Return a file's tables, after those of the catalogue's study that it is `like`.

    Its settings replace those of the same name, and its `changes` fields of the claims with these
    texts; any other key replaces the whole value.
    """
    try:
        content = read_toml(path)
    except OSError:
        raise UserError(f"there is no study {path}") from None
    if "like" not in content and "changes" in content:
        raise UserError(f"{path}: changes is for the claims of a study that this one is `like`")
    if "like" not in content:
        return content
    like = content.pop("like")
    if like not in list_studies():
        raise UserError(f"{path}: like: {unknown('study', str(like), list_studies())}")
    base = _read_content(CATALOGUE / f"{like}.toml")
    if isinstance(own := content.get("settings", ()), list):
        lines = [*base.get("settings", ()), *map(str, own)]
        content["settings"] = [*{line.partition("=")[0]: line for line in lines}.values()]
    changes, claims = content.pop("changes", {}), base.get("claims", ())
    if changes and "claims" in content:
        raise UserError(f"{path}: changes is for the claims of {like}; remove it, or claims")
    if not isinstance(changes, dict) or not all(isinstance(one, dict) for one in changes.values()):
        raise UserError(f"{path}: changes must have a table for each claim, by its text")
    texts = [claim["text"] for claim in claims]
    for text in changes:
        if text not in texts:
            raise UserError(f"{path}: changes: {unknown('claim', text, texts)}")
    base["claims"] = [claim | changes.get(claim["text"], {}) for claim in claims]
    return {**base, **content}
