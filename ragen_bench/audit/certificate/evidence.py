"""Evidence of a certificate; each part is gathered once, on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

from ragen_bench.audit.certificate.openenv import Package, Session, inspect_package, inspect_session
from ragen_bench.audit.certificate.panel import Panel, play_panel
from ragen_bench.audit.certificate.side_effects import SideEffects, find_side_effects
from ragen_bench.audit.environment import Audit, count_guarantees
from ragen_bench.suites import env_id
from ragen_envs.registration import find_reference, is_registered
from ragen_envs.testing import Outcome, Subject
from ragen_envs.testing.kit import Run

EPISODES = 10_000
"""Default number of episodes of each player in a certificate."""
LEVELS = 1000
"""Default number of train instances to solve and compare, for the suite's environments."""
OnProgress = Callable[[str, int, int], None]
"""Called with the name of the current step, the units done and their total."""


def _ignore(*_progress: object) -> None:
    pass


@dataclass(frozen=True)
class Evidence:
    """Evidence about an environment.

    Attributes:
        env: Name of the environment on the command line.
        subject: Environment in the form that the testing kit takes.
        episodes: Number of episodes of each player of the panel.
        levels: Number of train instances to solve and compare.
        on_progress: Callback of progress.
    """

    env: str
    subject: Subject
    episodes: int = EPISODES
    levels: int = LEVELS
    on_progress: OnProgress = _ignore

    @property
    def is_registered(self) -> bool:
        """Whether the id is of a registered game."""
        return is_registered(self.env)

    @property
    def reference(self) -> str:
        """Reason why the oracle's score is not an upper bound; "" if it is one."""
        return find_reference(self.env)

    @property
    def has_openenv(self) -> bool:
        """Whether OpenEnv is installed."""
        return find_spec("openenv") is not None

    def outcome(self, check: str) -> Outcome:
        """Return the outcome of a check of the testing kit."""
        self.on_progress(f"kit: {check}", 0, 1)
        return self._kit.outcome(check)

    @cached_property
    def _kit(self) -> Run:
        return Run(self.subject)

    @cached_property
    def counts(self) -> Audit:
        """Counts of the audit, for one of the suite's environments."""
        self.on_progress("instances", 0, 1)
        return count_guarantees(env_id(self.env), self.levels, _ignore)

    @cached_property
    def panel(self) -> Panel:
        """Scores of the scripted players."""
        done = 0

        def advance(seeds: int) -> None:
            nonlocal done
            done += seeds
            self.on_progress("players", done, self.episodes)

        return play_panel(self.subject, self.episodes, advance)

    @cached_property
    def side_effects(self) -> SideEffects:
        """Side effects of episodes on the machine."""
        self.on_progress("network, files and processes", 0, 1)
        return find_side_effects(self.subject)

    @cached_property
    def package(self) -> Package:
        """Folder that OpenEnv builds an image from; needs OpenEnv and a registered id."""
        self.on_progress("OpenEnv's package", 0, 1)
        return inspect_package(self.env)

    @cached_property
    def session(self) -> Session:
        """Session of OpenEnv's server; needs OpenEnv and a registered id."""
        self.on_progress("OpenEnv's session", 0, 1)
        return inspect_session(self.env)
