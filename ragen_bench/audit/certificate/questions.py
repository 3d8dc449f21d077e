"""OpenEnv's questions about an environment, each with the function that answers it.

The ids are those of `severity-v2.json`, which OpenEnv installs; RFC 008 explains them. The texts
are our own. This module does not import OpenEnv.
"""

from __future__ import annotations

from typing import NamedTuple

from ragen_bench.audit.certificate.answers import (
    NO_PACKAGE,
    Answer,
    AnswerFunction,
    combine,
    exempt,
    for_suite,
    judge,
    not_asked,
    of_package,
    run_kit,
    stays_at_floor,
    with_openenv,
)
from ragen_bench.audit.certificate.evidence import Evidence, Package
from ragen_envs.registration import find_reference

OPENENV = "0.10.0"
"""OpenEnv's release that defines these questions."""
POLICY = "v2"
"""Version of OpenEnv's severity policy."""


class Question(NamedTuple):
    """A question in our own words; `plays` is whether its answer needs the panel."""

    text: str
    answer: AnswerFunction
    plays: bool = False


MARGIN = 0.1
"""Minimum difference between floor and best score in OpenEnv's policy."""
_NO_CEILING = Answer(
    "exempt", reason="no best score is known; give a Subject with oracle and ceiling"
)


def has_floor_gap(evidence: Evidence) -> Answer:
    """Answer whether empty responses score well below the oracle."""
    panel = evidence.panel
    if panel.ceiling is None:
        return _NO_CEILING
    nothing = panel.row("null").score
    best = _best(evidence, panel.ceiling)
    seen = f"doing nothing {nothing:.4f}, {best}; margin {MARGIN:g}"
    return judge(panel.ceiling - nothing >= MARGIN, seen, "the two are closer than the margin")


def has_mindless_gap(evidence: Evidence) -> Answer:
    """Answer whether all scripted players score well below the oracle."""
    panel = evidence.panel
    if panel.ceiling is None:
        return _NO_CEILING
    best = max(panel.rows, key=lambda row: row.score)
    above = [row.player for row in panel.rows if row.is_above_floor] or ["nobody"]
    seen = (
        f"best scripted player {best.player} {best.score:.4f}, {_best(evidence, panel.ceiling)}, "
        f"floor {panel.floor.score:.4f}; above the floor: {', '.join(above)}"
    )
    reason = f"a player that understands nothing comes within {MARGIN:g} of the best score"
    return judge(panel.ceiling - best.score >= MARGIN, seen, reason)


def is_reward_reachable(evidence: Evidence) -> Answer:
    """Answer whether the random player ever scores."""
    panel = evidence.panel
    seen = f"the random player scored in {panel.scoring_episodes:,} of {panel.episodes:,} episodes"
    return judge(
        panel.scoring_episodes > 0, seen, "no random episode scored, so learning has no start"
    )


def reaches_best(function: AnswerFunction) -> AnswerFunction:
    """Exempt a passed answer about the best score if the oracle is a reference player."""

    def answer(evidence: Evidence) -> Answer:
        found = function(evidence)
        if found.status != "passed" or not (why := find_reference(evidence.env)):
            return found
        reason = f"the oracle is a reference player, and the best score is not known: {why}"
        seen = f"a reference player scores what is stated; {found.evidence}"
        return Answer("exempt", seen, reason)

    return answer


def _best(evidence: Evidence, ceiling: float) -> str:
    player = "reference player" if find_reference(evidence.env) else "best player"
    return f"{player} {ceiling:.4f}"


def _check_manifest(package: Package) -> Answer:
    status, said = package.manifest
    return judge(status == "pass", f"openenv validate: {said}", "OpenEnv refuses the manifest")


def _check_hygiene(package: Package) -> Answer:
    text = "\n".join(package.dockerfile)
    required = ("-slim", "--no-cache-dir", "\nUSER ")
    lacks = [each.strip() for each in required if each not in text]
    seen = "Dockerfile: slim base, no cache of pip, a user without rights"
    return judge(not lacks, seen, f"it lacks {', '.join(lacks)}")


def _check_layout(package: Package) -> Answer:
    seen = f"archives in the folder: {len(package.archives)}"
    return judge(not package.archives, seen, ", ".join(package.archives))


def _check_labels(package: Package) -> Answer:
    found = sum(line.startswith("LABEL ") for line in package.dockerfile)
    return judge(found > 0, f"labels in the Dockerfile: {found}", "the Dockerfile has no LABEL")


def _check_pins(package: Package) -> Answer:
    loose = [each for each in package.requirements if "==" not in each]
    base = [line for line in package.dockerfile if line.startswith("FROM ")]
    loose += [line for line in base if "@sha256:" not in line]
    seen = f"requirements and base image without an exact version: {len(loose)}"
    return judge(not loose, seen, "; ".join(loose))


def _check_resources(package: Package) -> Answer:
    declared = package.declared["resources"]
    names = ("cpu", "memory_mb", "disk_mb", "episode_timeout_s")
    seen = ", ".join(f"{name} {declared.get(name)}" for name in names)
    return judge(all(declared.get(name) for name in names), seen, "one is not declared")


def _check_timeout(package: Package) -> Answer:
    """Check that an episode's time limit is at most the policy's hour."""
    seconds = package.declared["resources"]["episode_timeout_s"]
    return judge(0 < seconds <= 3600, f"{seconds:g} s an episode, of 3,600 allowed", "too long")


def _check_tasks(evidence: Evidence) -> Answer:
    counts, declared = evidence.counts, evidence.package.declared
    task_counts = declared["capabilities"]["declared_task_count"]
    held_out = sum(size for split, size in task_counts.items() if split in ("val", "test"))
    seen = f"declared val and test: {held_out}; found: {counts.held_out}, twice: {counts.doubled}"
    return judge(held_out == counts.held_out and not counts.doubled, seen, "they differ")


def _check_shipped(evidence: Evidence) -> Answer:
    counts = evidence.counts
    seen = (
        f"{counts.shipped} of {counts.held_out} held-out instances are generated anew to the byte; "
        f"in train too: {counts.leaked}"
    )
    return judge(counts.shipped == counts.held_out and not counts.leaked, seen, "they differ")


def _check_solved(evidence: Evidence) -> Answer:
    counts = evidence.counts
    total = counts.levels + counts.held_out
    seen = (
        f"unsolved {counts.unsolved} of {total:,}; oracle {counts.oracle:.4f}, "
        f"best expected score {counts.ceiling:.4f}"
    )
    broken = [line for line in counts.problems if line.startswith(("unsolved:", "ceiling:"))]
    return judge(not broken, seen, "; ".join(broken))


def _check_reward_range(evidence: Evidence) -> Answer:
    low, high = evidence.package.declared["reward"]["range"]
    least, most = evidence.panel.rewards
    seen = f"rewards {least:g} to {most:g}, declared {low:g} to {high:g}"
    return judge(low <= least and most <= high, seen, "a reward lies outside the declared range")


def _check_state(evidence: Evidence) -> Answer:
    session = evidence.session
    seen = f"{session.steps} steps of {session.episodes} episodes in a session"
    return judge(not session.problems, seen, "; ".join(session.problems[:1]))


def _check_secrets(evidence: Evidence) -> Answer:
    fields, secrets = evidence.session.fields, evidence.session.secrets
    return judge(not secrets, f"told: {', '.join(fields)}", f"told as well: {', '.join(secrets)}")


def _check_network(evidence: Evidence) -> Answer:
    found = evidence.side_effects
    seen = f"sockets and requests in {found.episodes} episodes: {len(found.network)}"
    return judge(not found.network, seen, ", ".join(sorted(found.network)))


def _check_machine(evidence: Evidence) -> Answer:
    found = evidence.side_effects
    seen = f"files written and processes in {found.episodes} episodes: {len(found.machine)}"
    return judge(not found.machine, seen, ", ".join(sorted(found.machine)))


_OPERATOR = not_asked("of whoever publishes the image")
_MODELS = not_asked(
    "of whoever has models: the harness evaluates them, the leaderboard has their scores"
)
_NO_SPLITS = exempt("no held-out files are known of it; the kit's splits_disjoint compares splits")
_NO_BUILD = exempt("no image is built here; the base image is named by its tag, so they may differ")
_NO_LIST = exempt("it is made from a built image; `ragen-envs package` writes none")
_NO_RUBRIC = exempt("no rubric is declared: the reward is one number, which the observation states")
_NO_PARTS = exempt("the kit is told nothing of the parts of its reward")
_NO_TOOLS = exempt("none are declared: an answer is a text")

_STATIC = {
    "manifest": Question("Is its manifest valid and within bounds?", of_package(_check_manifest)),
    "reproducible_build": Question(
        "Do two builds give the same image?", for_suite(_NO_BUILD, NO_PACKAGE)
    ),
    "image_hygiene": Question("Is the image clean?", of_package(_check_hygiene)),
    "layout": Question("Is the package free of archives?", of_package(_check_layout)),
    "sbom": Question(
        "Does a list of its software come with the image?", for_suite(_NO_LIST, NO_PACKAGE)
    ),
    "oci_labels": Question("Do labels say what the image is?", of_package(_check_labels)),
    "resource_declaration": Question("Are its resources declared?", of_package(_check_resources)),
    "timeout_ceiling": Question("Is an episode's time bounded?", of_package(_check_timeout)),
    "dependency_pinning": Question(
        "Has everything it installs one version?", of_package(_check_pins)
    ),
    "task_distribution_pinning": Question(
        "Are its instances fixed?", for_suite(_check_shipped, _NO_SPLITS)
    ),
}
_RUNTIME = {
    "startup": Question("Does it start, reset and step?", run_kit("reset_and_step", "close_twice")),
    "reward_well_formed": Question(
        "Is every reward a finite number in the declared range?",
        for_suite(
            combine(run_kit("rewards"), with_openenv(_check_reward_range)), run_kit("rewards")
        ),
        plays=True,
    ),
    "rubric_introspectable": Question(
        "Can the parts of its reward be inspected?", for_suite(_NO_RUBRIC, _NO_PARTS)
    ),
    "observation_schema": Question(
        "Does every observation have the declared form?",
        run_kit("observation_space", "action_space"),
    ),
    "state_contract": Question(
        "Does its state name the episode and count the steps?", with_openenv(_check_state)
    ),
    "trajectory_record": Question(
        "Is an episode recorded?",
        exempt("the server keeps none; `ragen-bench evaluate` records every turn"),
    ),
    "reward_attribution": Question(
        "Is each part of a reward attributed?",
        for_suite(exempt("a reward has no parts"), _NO_PARTS),
    ),
    "tool_declaration_accuracy": Question("Are the declared tools there?", _NO_TOOLS),
    "task_declaration_accuracy": Question(
        "Are there as many tasks as declared?", with_openenv(_check_tasks)
    ),
    "seed_control": Question(
        "Does the seed decide the instance?", run_kit("seeds_matter", "reset_forgets")
    ),
    "episode_determinism": Question(
        "Does the same seed give the same episode?",
        run_kit("same_seed_same_episode", "global_random_not_read"),
    ),
    "network_policy": Question("Does play stay off the network?", _check_network),
    "host_containment": Question("Does play leave files and processes alone?", _check_machine),
    "resource_bounds": Question(
        "Does every episode end, whatever is answered?", run_kit("episode_ends", "hostile_text")
    ),
    "episode_isolation": Question(
        "Do episodes leave each other alone?",
        run_kit(
            "two_in_turns", "two_in_threads", "info_is_the_callers", "global_random_not_written"
        ),
    ),
    "oracle_containment": Question(
        "Is the solution kept from the player?", with_openenv(_check_secrets)
    ),
}
_SEMANTIC = {
    "oracle_max": Question(
        "Does the best player reach the best score?",
        for_suite(
            reaches_best(combine(run_kit("oracle_reaches_ceiling"), _check_solved)),
            run_kit("oracle_reaches_ceiling"),
        ),
    ),
    "floor_gap": Question(
        "Is doing nothing worth much less than the best?", has_floor_gap, plays=True
    ),
    "canary_floor": Question(
        "Do broken and injected answers stay at the floor?",
        stays_at_floor("broken", "inject"),
        plays=True,
    ),
    "no_solution_leakage": Question(
        "Does repeating what is shown stay at the floor?",
        stays_at_floor("echo", "copy"),
        plays=True,
    ),
    "verifier_determinism": Question(
        "Are the same answers scored alike?", run_kit("same_seed_same_episode", "reset_forgets")
    ),
    "verifier_portability": Question(
        "Are they scored alike in other processes and copies?",
        run_kit("same_seed_in_other_processes", "deepcopy", "pickle"),
    ),
    "resource_envelope": Question(
        "Does it stay within the declared resources?",
        exempt("a figure of a machine, which no certificate can repeat; see benchmarks"),
    ),
    "replayability": Question(
        "Does a recorded episode play again?",
        run_kit("same_seed_same_episode", "same_seed_in_other_processes"),
    ),
}
_HUB = {
    "layer_isolation": Question("Does a change rebuild few layers?", _OPERATOR),
    "time_to_first_work": Question("Does it start soon?", _OPERATOR),
    "cosign_signature": Question("Is the image signed?", _OPERATOR),
    "cross_host_determinism": Question(
        "Do other machines give the same episodes?",
        not_asked("one machine cannot tell; run this on another and compare the specification"),
    ),
    "immutable_versioning": Question("Does a version never change?", _OPERATOR),
}
_STATISTICAL = {
    "reward_reachability": Question("Does a beginner ever score?", is_reward_reachable, plays=True),
    "difficulty_separation": Question("Do better models score more?", _MODELS),
    "headroom": Question("Is there room above the best model?", _MODELS),
    "variance_bound": Question("Is a model's reward steady enough?", _MODELS),
    "training_signal": Question(
        "Do models improve by training?", not_asked("of whoever trains; see the results' studies")
    ),
    "adversarial_floor": Question(
        "Is nobody above the floor without playing?", stays_at_floor(), plays=True
    ),
    "gameability_gap": Question(
        "Are scripted players far from the best?", has_mindless_gap, plays=True
    ),
}

QUESTIONS = {
    f"{group}.{name}": question
    for group, questions in (
        ("static", _STATIC),
        ("runtime", _RUNTIME),
        ("semantic", _SEMANTIC),
        ("hub", _HUB),
        ("statistical", _STATISTICAL),
    )
    for name, question in questions.items()
}
