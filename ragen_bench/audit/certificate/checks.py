"""Answers about an environment's instances, image folder, session and side effects."""

from __future__ import annotations

from ragen_bench.audit.certificate.answers import Answer, judge
from ragen_bench.audit.certificate.evidence import Evidence
from ragen_bench.audit.certificate.openenv import Package


def check_manifest(package: Package) -> Answer:
    """Report OpenEnv's check of the manifest."""
    status, said = package.manifest
    return judge(status == "pass", f"openenv validate: {said}", "OpenEnv refuses the manifest")


def check_hygiene(package: Package) -> Answer:
    """Check that the image has a slim base, no cache of pip and an unprivileged user."""
    text = "\n".join(package.dockerfile)
    required = ("-slim", "--no-cache-dir", "\nUSER ")
    lacks = [each.strip() for each in required if each not in text]
    seen = "Dockerfile: slim base, no cache of pip, a user without rights"
    return judge(not lacks, seen, f"it lacks {', '.join(lacks)}")


def check_layout(package: Package) -> Answer:
    """Check that the folder has no archives."""
    seen = f"archives in the folder: {len(package.archives)}"
    return judge(not package.archives, seen, ", ".join(package.archives))


def check_labels(package: Package) -> Answer:
    """Check that the Dockerfile has labels."""
    found = sum(line.startswith("LABEL ") for line in package.dockerfile)
    return judge(found > 0, f"labels in the Dockerfile: {found}", "the Dockerfile has no LABEL")


def check_pins(package: Package) -> Answer:
    """Check that all requirements and the base image have an exact version."""
    loose = [each for each in package.requirements if "==" not in each]
    base = [line for line in package.dockerfile if line.startswith("FROM ")]
    loose += [line for line in base if "@sha256:" not in line]
    seen = f"requirements and base image without an exact version: {len(loose)}"
    return judge(not loose, seen, "; ".join(loose))


def check_resources(package: Package) -> Answer:
    """Check that all resources are declared."""
    declared = package.declared["resources"]
    names = ("cpu", "memory_mb", "disk_mb", "episode_timeout_s")
    seen = ", ".join(f"{name} {declared.get(name)}" for name in names)
    return judge(all(declared.get(name) for name in names), seen, "one is not declared")


def check_timeout(package: Package) -> Answer:
    """Check that an episode's time limit is at most the policy's hour."""
    seconds = package.declared["resources"]["episode_timeout_s"]
    return judge(0 < seconds <= 3600, f"{seconds:g} s an episode, of 3,600 allowed", "too long")


def check_tasks(evidence: Evidence) -> Answer:
    """Check the declared number of tasks."""
    counts, declared = evidence.counts, evidence.package.declared
    task_counts = declared["capabilities"]["declared_task_count"]
    held_out = sum(size for split, size in task_counts.items() if split in ("val", "test"))
    seen = f"declared val and test: {held_out}; found: {counts.held_out}, twice: {counts.doubled}"
    return judge(held_out == counts.held_out and not counts.doubled, seen, "they differ")


def check_shipped(evidence: Evidence) -> Answer:
    """Check that the generators reproduce the held-out instances, and none is in train."""
    counts = evidence.counts
    seen = (
        f"{counts.shipped} of {counts.held_out} held-out instances are generated anew to the byte; "
        f"in train too: {counts.leaked}"
    )
    return judge(counts.shipped == counts.held_out and not counts.leaked, seen, "they differ")


def check_solved(evidence: Evidence) -> Answer:
    """Check that the oracle solved every audited instance."""
    counts = evidence.counts
    total = counts.levels + counts.held_out
    seen = (
        f"unsolved {counts.unsolved} of {total:,}; oracle {counts.oracle:.4f}, "
        f"best expected score {counts.ceiling:.4f}"
    )
    broken = [line for line in counts.problems if line.startswith(("unsolved:", "ceiling:"))]
    return judge(not broken, seen, "; ".join(broken))


def check_reward_range(evidence: Evidence) -> Answer:
    """Check that every reward of the panel is in the declared range."""
    low, high = evidence.package.declared["reward"]["range"]
    least, most = evidence.panel.rewards
    seen = f"rewards {least:g} to {most:g}, declared {low:g} to {high:g}"
    return judge(low <= least and most <= high, seen, "a reward lies outside the declared range")


def check_state(evidence: Evidence) -> Answer:
    """Check the episode ids and step counts of a session's state."""
    session = evidence.session
    seen = f"{session.steps} steps of {session.episodes} episodes in a session"
    return judge(not session.problems, seen, "; ".join(session.problems[:1]))


def check_secrets(evidence: Evidence) -> Answer:
    """Check that a session does not reveal the instance or its optimal score."""
    fields, secrets = evidence.session.fields, evidence.session.secrets
    return judge(not secrets, f"told: {', '.join(fields)}", f"told as well: {', '.join(secrets)}")


def check_network(evidence: Evidence) -> Answer:
    """Check that episodes opened no socket."""
    found = evidence.side_effects
    seen = f"sockets and requests in {found.episodes} episodes: {len(found.network)}"
    return judge(not found.network, seen, ", ".join(found.network))


def check_machine(evidence: Evidence) -> Answer:
    """Check that episodes wrote no file and started no process."""
    found = evidence.side_effects
    seen = f"files written and processes in {found.episodes} episodes: {len(found.machine)}"
    return judge(not found.machine, seen, ", ".join(found.machine))
