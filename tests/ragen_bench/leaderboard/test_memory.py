"""Memory is bounded by one line and the figures, however large the file."""

import subprocess
import sys

import pytest

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.leaderboard.files import write_packed
from ragen_bench.models import Completion
from ragen_bench.suites import make_env
from tests.ragen_bench.leaderboard.entries import edit_entry, entry_json, entry_of, evaluation

LIMITED = """
import resource, sys
from pathlib import Path
from ragen_bench.suites import SUITES, Suite
from ragen_bench.leaderboard import verify

SUITES["tiny"] = Suite(3, "", {"ragen/Sokoban-v0": 4, "ragen/FrozenLake-v0": 4}, max_tokens=40)
small, large, spare = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
assert verify(small).verified
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + spare
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
verdict = verify(large)
print(verdict.problems or verdict.verified, verdict.episodes, verdict.turns)
"""
MEGABYTE = 1 << 20


def verified_within(megabytes, small, large):
    command = [sys.executable, "-c", LIMITED, small, large, str(megabytes * MEGABYTE)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def talkative(index, sample, thought):
    """An episode with a long answer; it is one turn, and out of room in the next."""
    env = make_env("ragen/Sokoban-v0", "test", "think")
    episode = Episode(Task("ragen/Sokoban-v0", "test", index, sample), 0, env, "think")
    episode.take(Completion(thought, 100, 40_000))
    episode.take(Completion("", finish="context"))
    return episode.record().as_json()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """An entry of 64 episodes with 1.4 MB each, and 64 more that are missing."""
    what = evaluation(max_tokens=40_000, samples=16)
    path = entry_of(tmp_path_factory.mktemp("large"), what)
    thought = "".join(f"{number:x}," for number in range(250_000))
    found = (talkative(i, s, thought) for i in range(4) for s in range(16))
    digest, length = write_packed(path / "episodes.jsonl.gz", found)
    edit_entry(path, lambda e: e.update(episodes_sha256=digest, episodes_bytes=length))
    return path


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_hundred_megabytes_are_read_in_thirty(honest, large):
    assert entry_json(large)["episodes_bytes"] > 85 * MEGABYTE
    done = verified_within(30, honest, large)
    assert done.stderr == ""
    assert "64 of 128 episodes are missing, first ragen/FrozenLake-v0/test/0/0" in done.stdout
    assert done.stdout.endswith(" 64 64\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_limit_is_one(honest, large, tmp_path):
    """A line that is held as a whole does not fit into 5 MB."""
    done = verified_within(5, honest, large)
    assert "MemoryError" in done.stderr
