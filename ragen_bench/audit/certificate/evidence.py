"""All that a certificate's answers rest on, each part found once, when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

from ragen_bench.audit.certificate.panel import Panel, play_panel
from ragen_bench.audit.certificate.quiet import Touched, touched
from ragen_bench.audit.certificate.served import Package, Session, look_at_package, look_at_session
from ragen_bench.audit.environment import Audit, count_guarantees
from ragen_bench.suites import env_id
from ragen_envs.registration import find_reference, is_registered
from ragen_envs.testing import Outcome, Subject
from ragen_envs.testing.kit import Run

EPISODES = 10_000
"""Episodes of each player in a certificate, unless the command says otherwise."""
LEVELS = 1000
"""Train instances of this suite's environments that are solved and compared."""
Tell = Callable[[str, int, int], None]
"""Called with what is done, how much of it is done, and of how much."""


def _untold(_doing: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def _unadvanced(_steps: int, _doing: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Evidence:
    """What is known of an environment.

    Attributes:
        env: its id, or how the command line names it.
        subject: the environment as the kit takes it.
        episodes: of each player of the panel.
        levels: train instances that are solved and compared.
        tell: told of progress.
    """

    env: str
    subject: Subject
    episodes: int = EPISODES
    levels: int = LEVELS
    tell: Tell = _untold

    @property
    def is_registered(self) -> bool:
        """Whether a game of this suite or of an installed package has the id."""
        return is_registered(self.env)

    @property
    def reference(self) -> str:
        """Why its oracle is a reference player and no best one; "" where it is not known to be."""
        return find_reference(self.env)

    @property
    def has_openenv(self) -> bool:
        """Whether OpenEnv is installed."""
        return find_spec("openenv") is not None

    def outcome(self, check: str) -> Outcome:
        """Return what a check of the kit found."""
        self.tell(f"kit: {check}", 0, 1)
        return self._kit.outcome(check)

    @cached_property
    def _kit(self) -> Run:
        return Run(self.subject)

    @cached_property
    def counts(self) -> Audit:
        """What the audit counts of one of this suite's environments."""
        self.tell("instances", 0, 1)
        return count_guarantees(env_id(self.env), self.levels, _unadvanced)

    @cached_property
    def panel(self) -> Panel:
        """What the scripted players scored."""
        done = 0

        def advance(seeds: int) -> None:
            nonlocal done
            done += seeds
            self.tell("players", done, self.episodes)

        return play_panel(self.subject, self.episodes, advance)

    @cached_property
    def touched(self) -> Touched:
        """What playing does to the machine."""
        self.tell("network, files and processes", 0, 1)
        return touched(self.subject)

    @cached_property
    def package(self) -> Package:
        """The folder that OpenEnv builds an image of; only of this suite, and with OpenEnv."""
        self.tell("OpenEnv's package", 0, 1)
        return look_at_package(self.env)

    @cached_property
    def session(self) -> Session:
        """An episode as OpenEnv serves it; only of this suite, and with OpenEnv."""
        self.tell("OpenEnv's session", 0, 1)
        return look_at_session(self.env)
