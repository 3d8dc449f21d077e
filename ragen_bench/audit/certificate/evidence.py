"""Evidence of a certificate; each part is gathered once, on first use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from ragen_bench.audit.certificate.panel import Panel, play_panel
from ragen_bench.audit.environment import Audit, count_guarantees
from ragen_bench.json_types import JsonObject
from ragen_bench.reading import read_text, read_toml
from ragen_bench.suites import env_id
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.protocol import format_answer
from ragen_envs.testing import HOSTILE, CheckFailed, Outcome, Subject
from ragen_envs.testing.failure import EnvironmentRaised
from ragen_envs.testing.kit import Run
from ragen_envs.testing.player import Player, finish

EPISODES = 10_000
"""Default number of episodes of each player in a certificate."""
LEVELS = 1000
"""Default number of train instances to solve and compare, for the suite's environments."""
OnProgress = Callable[[str, int, int], None]
"""Called with the name of the current step, the units done and their total."""
_NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.")
_PROCESSES = ("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn")
_FILES = (
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "shutil.", "tempfile."),
)
_MAX_LENGTH = 10_000
"""Maximum length of hostile texts here; the testing kit has longer ones."""
_EPISODES = 8
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".whl")
_SECRETS = ("ceiling", "optimal_length", "instance", "index")
"""Values of `info` that reveal the instance or its optimal score."""


@dataclass(frozen=True)
class Package:
    """Folder that `ragen-envs package ID --openenv` writes.

    `manifest` is the status and the evidence of OpenEnv's check; `declared` is the manifest as
    OpenEnv reads it. `dockerfile` has lines, `archives` names of files.
    """

    manifest: tuple[str, str]
    declared: JsonObject
    dockerfile: tuple[str, ...]
    requirements: tuple[str, ...]
    archives: tuple[str, ...]


@dataclass(frozen=True)
class Session:
    """Results of the random player's episodes in a session of OpenEnv's server.

    `steps` counts those of all episodes. `problems` has one line for each state with a wrong
    episode id or step count. `fields` names all values in observations and states, `secrets`
    those that a player must not see.
    """

    episodes: int
    steps: int
    problems: tuple[str, ...]
    fields: tuple[str, ...]
    secrets: tuple[str, ...]


@dataclass(eq=False)
class SideEffects:
    """Distinct events of Python's audit hooks in one thread.

    `network` has events of sockets and requests; `machine` those of processes and of files written,
    moved or removed.
    """

    thread: int = 0
    episodes: int = 0
    network: set[str] = field(default_factory=set)
    machine: set[str] = field(default_factory=set)

    def record(self, event: str, arguments: tuple[object, ...]) -> None:
        """Record an event."""
        if threading.get_ident() != self.thread:
            return
        mode = arguments[1] if event == "open" else None
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        if event.startswith(_NETWORK):
            self.network.add(event)
        elif writes or event.startswith((*_PROCESSES, *_FILES)):
            self.machine.add(event)


_recording: list[SideEffects] = []


@cache
def _add_hook() -> None:
    # Once per process, as a hook cannot be removed.
    sys.addaudithook(_record)


def _record(event: str, arguments: tuple[object, ...]) -> None:
    for effects in _recording:
        effects.record(event, arguments)


def _play(subject: Subject, player: Player, hostile: list[str]) -> int:
    for seed in subject.seeds:
        player.reset(seed)
        finish(subject, player)
    for text in hostile:
        player.reset(subject.seeds[0])
        try:
            finish(subject, player, partial(_say, text))
        except (EnvironmentRaised, CheckFailed):
            continue  # reported by the kit's check of hostile text
    return len(subject.seeds) + len(hostile)


def _say(text: str, _player: Player) -> str:
    return text


@dataclass(frozen=True)
class Evidence:
    """Evidence about an environment; each part is gathered once, on first use.

    `env` is its name on the command line. The panel plays `episodes` episodes of each player,
    and `levels` train instances are solved and compared.
    """

    env: str
    subject: Subject
    episodes: int = EPISODES
    levels: int = LEVELS
    on_progress: OnProgress = lambda *_progress: None

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
        return count_guarantees(env_id(self.env), self.levels, lambda *_step: None)

    @cached_property
    def panel(self) -> Panel:
        """Scores of the scripted players."""
        done = count(1)
        return play_panel(
            self.subject,
            self.episodes,
            lambda _seeds: self.on_progress("players", next(done), self.episodes),
        )

    @cached_property
    def side_effects(self) -> SideEffects:
        """Side effects of the kit's seeds, with valid and hostile responses, on the machine.

        A first pass plays all episodes without recording, since lazy imports read files. Audit
        hooks do not see compiled code that bypasses Python.
        """
        self.on_progress("network, files and processes", 0, 1)
        found = SideEffects()
        _add_hook()
        hostile = [text for text in HOSTILE.values() if len(text) <= _MAX_LENGTH]
        with Player(self.subject.make_env) as player:
            _play(self.subject, player, hostile)
            found.thread = threading.get_ident()
            _recording.append(found)
            try:
                found.episodes = _play(self.subject, player, hostile)
            finally:
                _recording.remove(found)
        return found

    @cached_property
    def package(self) -> Package:
        """Folder that OpenEnv builds an image from; needs OpenEnv and a registered id."""
        from openenv.validation import Level, run_validation

        from ragen_envs.integrations.openenv.package import write_package
        from ragen_envs.integrations.openenv.served import Served

        self.on_progress("OpenEnv's package", 0, 1)
        with TemporaryDirectory() as temporary:
            folder = Path(temporary) / "package"
            write_package(folder, Served.of(self.env))
            report = run_validation(folder, max_level=Level.STATIC, skip_build=True)
            checked = next(row for row in report.results if row.check_id == "static.manifest")
            project = read_toml(folder / "pyproject.toml")
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            return Package(
                manifest=(checked.status.value, "; ".join(checked.evidence)),
                declared=report.model_dump(mode="json")["manifest"],
                dockerfile=tuple(read_text(folder / "Dockerfile").splitlines()),
                requirements=tuple(project["project"]["dependencies"]),
                archives=tuple(path.name for path in files if path.suffix in _ARCHIVES),
            )

    @cached_property
    def session(self) -> Session:
        """Session of OpenEnv's server with a state that is checked after each step."""
        from ragen_envs.integrations.openenv.environment import TextAction, TextEnvironment
        from ragen_envs.integrations.openenv.served import Served

        self.on_progress("OpenEnv's session", 0, 1)
        served = Served.of(self.env)
        session, stream = TextEnvironment(served), RandomStream("certificate", "session")
        problems: list[str] = []
        fields: set[str] = set()
        steps = 0
        for seed in range(_EPISODES):
            name = f"certificate-{seed}"
            observation = session.reset(seed=seed, episode_id=name)
            count = 0
            while True:
                state = session.state
                fields |= {*observation.info, *observation.metadata, *state.model_dump()}
                if (state.episode_id, state.step_count) != (name, count):
                    problems.append(f"seed {seed}: {state.episode_id} at step {state.step_count}")
                if observation.done:
                    break
                legal = observation.info["legal_actions"]
                answer = format_answer([legal[stream.below(len(legal))]], served.response_format)
                observation = session.step(TextAction(message=answer))
                count += 1
            steps += count
        session.close()
        secrets = tuple(name for name in _SECRETS if name in fields)
        return Session(_EPISODES, steps, tuple(problems), tuple(sorted(fields)), secrets)
