"""Answers about an environment's instances, its image's folder, its session and the machine."""

from __future__ import annotations

from ragen_bench.audit.certificate.answers import Answer, judged
from ragen_bench.audit.certificate.evidence import Evidence
from ragen_bench.audit.certificate.served import Package


def manifest(package: Package) -> Answer:
    """Return OpenEnv's own finding on the manifest."""
    status, said = package.manifest
    return judged(status == "pass", f"openenv validate: {said}", "OpenEnv refuses the manifest")


def hygiene(package: Package) -> Answer:
    """Return whether the image is slim, keeps no cache, and runs as a user without rights."""
    text = "\n".join(package.dockerfile)
    wanted = ("-slim", "--no-cache-dir", "\nUSER ")
    lacks = [each.strip() for each in wanted if each not in text]
    seen = "Dockerfile: slim base, no cache of pip, a user without rights"
    return judged(not lacks, seen, f"it lacks {', '.join(lacks)}")


def layout(package: Package) -> Answer:
    """Return whether the folder holds no archive."""
    seen = f"archives in the folder: {len(package.archives)}"
    return judged(not package.archives, seen, ", ".join(package.archives))


def labels(package: Package) -> Answer:
    """Return whether the Dockerfile says what the image is."""
    found = sum(line.startswith("LABEL ") for line in package.dockerfile)
    return judged(found > 0, f"labels in the Dockerfile: {found}", "the Dockerfile has no LABEL")


def pinned(package: Package) -> Answer:
    """Return whether everything that the image installs has one version."""
    loose = [each for each in package.requirements if "==" not in each]
    base = [line for line in package.dockerfile if line.startswith("FROM ")]
    loose += [line for line in base if "@sha256:" not in line]
    seen = f"requirements and base image without an exact version: {len(loose)}"
    return judged(not loose, seen, "; ".join(loose))


def resources(package: Package) -> Answer:
    """Return whether resources are declared."""
    declared = package.declared["resources"]
    names = ("cpu", "memory_mb", "disk_mb", "episode_timeout_s")
    seen = ", ".join(f"{name} {declared.get(name)}" for name in names)
    return judged(all(declared.get(name) for name in names), seen, "one is not declared")


def timeout(package: Package) -> Answer:
    """Return whether an episode's time is bounded within an hour, as the policy wants."""
    seconds = package.declared["resources"]["episode_timeout_s"]
    return judged(0 < seconds <= 3600, f"{seconds:g} s an episode, of 3,600 allowed", "too long")


def tasks(evidence: Evidence) -> Answer:
    """Return whether the declared numbers of tasks are those that were found."""
    counts, declared = evidence.counts, evidence.package.declared
    named = declared["capabilities"]["declared_task_count"]
    held_out = sum(size for split, size in named.items() if split in ("val", "test"))
    seen = f"declared val and test: {held_out}; found: {counts.held_out}, twice: {counts.doubled}"
    return judged(held_out == counts.held_out and not counts.doubled, seen, "they differ")


def shipped(evidence: Evidence) -> Answer:
    """Return whether the held-out instances are what the generators give, and apart from train."""
    counts = evidence.counts
    seen = (
        f"{counts.shipped} of {counts.held_out} held-out instances are generated anew to the byte; "
        f"in train too: {counts.leaked}"
    )
    return judged(counts.shipped == counts.held_out and not counts.leaked, seen, "they differ")


def solved(evidence: Evidence) -> Answer:
    """Return whether every instance that was looked at can be solved and was."""
    counts = evidence.counts
    total = counts.levels + counts.held_out
    seen = (
        f"unsolved {counts.unsolved} of {total:,}; oracle {counts.oracle:.4f}, "
        f"best expected score {counts.ceiling:.4f}"
    )
    broken = [line for line in counts.problems if line.startswith(("unsolved:", "ceiling:"))]
    return judged(not broken, seen, "; ".join(broken))


def rewards_in_range(evidence: Evidence) -> Answer:
    """Return whether every reward of the panel lies in the declared range."""
    low, high = evidence.package.declared["reward"]["range"]
    least, most = evidence.panel.rewards
    seen = f"rewards {least:g} to {most:g}, declared {low:g} to {high:g}"
    return judged(low <= least and most <= high, seen, "a reward lies outside the declared range")


def state(evidence: Evidence) -> Answer:
    """Return whether a session's state names its episode and counts its steps."""
    session = evidence.session
    seen = f"{session.steps} steps of {session.episodes} episodes in a session"
    return judged(not session.problems, seen, "; ".join(session.problems[:1]))


def secrets(evidence: Evidence) -> Answer:
    """Return whether a session tells nothing of the instance or its best score."""
    told, kept = evidence.session.told, evidence.session.secrets
    return judged(not kept, f"told: {', '.join(told)}", f"told as well: {', '.join(kept)}")


def network(evidence: Evidence) -> Answer:
    """Return whether play opened no socket."""
    found = evidence.touched
    seen = f"sockets and requests in {found.episodes} episodes: {len(found.network)}"
    return judged(not found.network, seen, ", ".join(found.network))


def machine(evidence: Evidence) -> Answer:
    """Return whether play wrote no file and started no process."""
    found = evidence.touched
    seen = f"files written and processes in {found.episodes} episodes: {len(found.machine)}"
    return judged(not found.machine, seen, ", ".join(found.machine))
