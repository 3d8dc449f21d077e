"""Every way to a sealed key, to the game or to a file that was tried on the scorer.

It plays the oracle's actions once one of them works, and names all that do in its first thought.
"""

import contextlib
import ctypes
import gc
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import gymnasium

from ragen_envs.core import sealed
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import format_answer
from ragen_envs.core.text_env import TextEnv

HERE = Path.cwd()
HASH = "the published hash"  # the test writes it here
PORT = 0  # and here the port on which it listens
KEYS = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_ATTACH, _DETACH, _ANY = 16, 17, 0x40000000
_MOST = 64 << 20


def key_in(data):
    """Return the key that bytes hold, as the published hash says."""
    for found in set(KEYS.findall(data)):
        if sealed.key_hash(found.decode()) == HASH:
            return found.decode()
    return None


def own_functions():
    hashed = sealed.open_key()
    return sealed.secret_of(hashed)


def variables():
    return key_in(repr(dict(os.environ)).encode()) or key_file(os.environ)


def key_file(named):
    path = named.get("RAGEN_SEALED_KEY_FILE")
    return path and key_in(Path(path).read_bytes())


def variables_of_others():
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            data = place.read_bytes()
            named = dict(word.partition(b"=")[::2] for word in data.split(b"\0"))
            path = named.get(b"RAGEN_SEALED_KEY_FILE")
            if key := key_in(data) or (path and key_in(Path(path.decode()).read_bytes())):
                return key
    return None


def files_around():
    """Read what lies beside the agent and above."""
    for folder in (HERE, HERE.parent, Path("/root"), Path("/tmp")):
        for path in [*folder.glob("*"), *folder.glob("*/*")]:
            with contextlib.suppress(OSError):
                if path.is_file() and (key := key_in(path.read_bytes()[:10_000])):
                    return key
    return None


def memory_of_parent():
    left = _MOST
    maps = Path(f"/proc/{os.getppid()}/maps").read_text().splitlines()
    with Path(f"/proc/{os.getppid()}/mem").open("rb", 0) as memory:
        for line in maps:
            low, high = (int(number, 16) for number in line.split()[0].split("-"))
            if "rw-p" not in line or high - low > left:
                continue
            left -= high - low
            with contextlib.suppress(OSError, ValueError):
                memory.seek(low)
                if key := key_in(memory.read(high - low)):
                    return key
    return None


def traced_parent():
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    if trace(_ATTACH, os.getppid(), 0, 0):
        return None
    os.waitpid(os.getppid(), _ANY)
    trace(_DETACH, os.getppid(), 0, 0)
    return "traced"


def environments_in(objects):
    bare = (one for one in objects if isinstance(one, TextEnv))
    return next((env for env in bare if env.split == "sealed"), None)


def frames():
    for frame in sys._current_frames().values():
        while frame:
            held = frame.f_locals.values()
            if env := environments_in([*held, *(getattr(one, "env", None) for one in held)]):
                return env
            frame = frame.f_back
    return None


def garbage():
    return environments_in(gc.get_objects())


def entry_of_the_oracle():
    return (HERE / "runs/oracle/episodes.jsonl").read_bytes()


def network():
    return socket.create_connection(("127.0.0.1", PORT), 5)


def unix_socket():
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect(f"\0ragen{PORT}") or "connected"


def written():
    return (HERE / "leak").write_text("was here")


def started():
    return subprocess.run(["/bin/true"]) and "started"


def forked():
    if child := os.fork():
        os.waitpid(child, 0)
        return "forked"
    os._exit(0)


CHEATS = (
    *(own_functions, variables, variables_of_others, files_around, memory_of_parent),
    *(traced_parent, frames, garbage, entry_of_the_oracle, network, unix_socket, written),
    *(started, forked),
)
worked = {}


def try_all():
    for cheat in CHEATS:
        with contextlib.suppress(Exception):
            if found := cheat():
                worked[cheat.__name__] = found
    for found in worked.values():
        if isinstance(found, str) and key_in(found.encode()):
            os.environ["RAGEN_SEALED_KEY"] = found


class Cheat:
    """Plays down and right where nothing works."""

    def reset(self, episode):
        if not worked:
            try_all()
        self.episode, self.answers = episode, []
        self.named = " ".join(worked)

    def act(self, messages, turn):
        answer = format_answer(["Down", "Right"], self.episode.response_format, "honest")
        with contextlib.suppress(Exception):
            answer = self.best()
        self.answers.append(answer)
        return answer.replace("<think>", f"<think>[{self.named}]", 1)

    def best(self):
        """Return the oracle's answer in the same game, made anew."""
        env = gymnasium.make(self.episode.environment, split="sealed").unwrapped
        env.reset(seed=self.episode.instance)
        for answer in self.answers:
            env.step(answer)
        return oracle_answer(env)


class Honest(Cheat):
    """Plays as the cheat does where nothing works."""

    def reset(self, episode):
        self.episode, self.answers, self.named = episode, [], ""

    def best(self):
        raise NotImplementedError
