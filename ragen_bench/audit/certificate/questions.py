"""OpenEnv's questions of an environment, each in our own words and with how it is answered.

The ids and their number are those of `severity-v2.json`, which OpenEnv installs; RFC 008 explains
them. OpenEnv itself is not imported here.
"""

from __future__ import annotations

from typing import NamedTuple

from ragen_bench.audit.certificate import answers, looks
from ragen_bench.audit.certificate.answers import (
    NO_PACKAGE,
    Answering,
    at_the_floor,
    both,
    exempt,
    kit,
    not_asked,
    own,
    packaged,
    with_openenv,
)

OPENENV = "0.10.0"
"""The release of OpenEnv whose questions these are."""
POLICY = "v2"
"""The version of its severity policy."""


class Question(NamedTuple):
    """A question and its answer's evidence.

    Attributes:
        text: in our own words.
        answer: from the evidence to the answer.
        plays: whether the panel is played for it.
    """

    text: str
    answer: Answering
    plays: bool = False


_OPERATOR = "of whoever publishes the image"
_MODELS = "of whoever has models: the harness evaluates them, the leaderboard has their scores"
_NO_SPLITS = "no held-out files are known of it; the kit's splits_disjoint compares splits"
_NO_BUILD = "no image is built here; the base image is named by its tag, so they may differ"
_NO_LIST = "it is made from a built image; `ragen-envs package` writes none"
_NO_RUBRIC = "no rubric is declared: the reward is one number, which the observation states"
_NO_PARTS = "the kit is told nothing of the parts of its reward"
_NO_TOOLS = "none are declared: an answer is a text"

_STATIC = {
    "manifest": Question("Is its manifest valid and within bounds?", packaged(looks.manifest)),
    "reproducible_build": Question(
        "Do two builds give the same image?",
        own(
            exempt(_NO_BUILD),
            NO_PACKAGE,
        ),
    ),
    "image_hygiene": Question("Is the image clean?", packaged(looks.hygiene)),
    "layout": Question("Is the package free of archives?", packaged(looks.layout)),
    "sbom": Question(
        "Does a list of its software come with the image?",
        own(exempt(_NO_LIST), NO_PACKAGE),
    ),
    "oci_labels": Question("Do labels say what the image is?", packaged(looks.labels)),
    "resource_declaration": Question("Are its resources declared?", packaged(looks.resources)),
    "timeout_ceiling": Question("Is an episode's time bounded?", packaged(looks.timeout)),
    "dependency_pinning": Question(
        "Has everything it installs one version?", packaged(looks.pinned)
    ),
    "task_distribution_pinning": Question(
        "Are its instances fixed?", own(looks.shipped, _NO_SPLITS)
    ),
}
_RUNTIME = {
    "startup": Question("Does it start, reset and step?", kit("reset_and_step", "close_twice")),
    "reward_well_formed": Question(
        "Is every reward a finite number in the declared range?",
        lambda evidence: (
            both(kit("rewards"), with_openenv(looks.rewards_in_range))
            if evidence.is_registered
            else kit("rewards")
        )(evidence),
        plays=True,
    ),
    "rubric_introspectable": Question(
        "Can the parts of its reward be inspected?",
        own(
            exempt(_NO_RUBRIC),
            _NO_PARTS,
        ),
    ),
    "observation_schema": Question(
        "Does every observation have the declared form?", kit("observation_space", "action_space")
    ),
    "state_contract": Question(
        "Does its state name the episode and count the steps?", with_openenv(looks.state)
    ),
    "trajectory_record": Question(
        "Is an episode recorded?",
        exempt("the server keeps none; `ragen-bench evaluate` records every turn"),
    ),
    "reward_attribution": Question(
        "Is each part of a reward attributed?", own(exempt("a reward has no parts"), _NO_PARTS)
    ),
    "tool_declaration_accuracy": Question("Are the declared tools there?", exempt(_NO_TOOLS)),
    "task_declaration_accuracy": Question(
        "Are there as many tasks as declared?", with_openenv(looks.tasks)
    ),
    "seed_control": Question(
        "Does the seed decide the instance?", kit("seeds_matter", "reset_forgets")
    ),
    "episode_determinism": Question(
        "Does the same seed give the same episode?",
        kit("same_seed_same_episode", "global_random_not_read"),
    ),
    "network_policy": Question("Does play stay off the network?", looks.network),
    "host_containment": Question("Does play leave files and processes alone?", looks.machine),
    "resource_bounds": Question(
        "Does every episode end, whatever is answered?", kit("episode_ends", "hostile_text")
    ),
    "episode_isolation": Question(
        "Do episodes leave each other alone?",
        kit("two_in_turns", "two_in_threads", "info_is_the_callers", "global_random_not_written"),
    ),
    "oracle_containment": Question(
        "Is the solution kept from the player?", with_openenv(looks.secrets)
    ),
}
_SEMANTIC = {
    "oracle_max": Question(
        "Does the best player reach the best score?",
        lambda evidence: (
            answers.best_reached(both(kit("oracle_reaches_ceiling"), looks.solved))
            if evidence.is_registered
            else kit("oracle_reaches_ceiling")
        )(evidence),
    ),
    "floor_gap": Question(
        "Is doing nothing worth much less than the best?", answers.floor_gap, plays=True
    ),
    "canary_floor": Question(
        "Do broken and injected answers stay at the floor?",
        at_the_floor("broken", "inject"),
        plays=True,
    ),
    "no_solution_leakage": Question(
        "Does repeating what is shown stay at the floor?", at_the_floor("echo", "copy"), plays=True
    ),
    "verifier_determinism": Question(
        "Are the same answers scored alike?", kit("same_seed_same_episode", "reset_forgets")
    ),
    "verifier_portability": Question(
        "Are they scored alike in other processes and copies?",
        kit("same_seed_in_other_processes", "deepcopy", "pickle"),
    ),
    "resource_envelope": Question(
        "Does it stay within the declared resources?",
        exempt("a figure of a machine, which no certificate can repeat; see benchmarks"),
    ),
    "replayability": Question(
        "Does a recorded episode play again?",
        kit("same_seed_same_episode", "same_seed_in_other_processes"),
    ),
}
_HUB = {
    "layer_isolation": Question("Does a change rebuild few layers?", not_asked(_OPERATOR)),
    "time_to_first_work": Question("Does it start soon?", not_asked(_OPERATOR)),
    "cosign_signature": Question("Is the image signed?", not_asked(_OPERATOR)),
    "cross_host_determinism": Question(
        "Do other machines give the same episodes?",
        not_asked("one machine cannot tell; run this on another and compare the specification"),
    ),
    "immutable_versioning": Question("Does a version never change?", not_asked(_OPERATOR)),
}
_STATISTICAL = {
    "reward_reachability": Question("Does a beginner ever score?", answers.reached, plays=True),
    "difficulty_separation": Question("Do better models score more?", not_asked(_MODELS)),
    "headroom": Question("Is there room above the best model?", not_asked(_MODELS)),
    "variance_bound": Question("Is a model's reward steady enough?", not_asked(_MODELS)),
    "training_signal": Question(
        "Do models improve by training?", not_asked("of whoever trains; see the results' studies")
    ),
    "adversarial_floor": Question(
        "Is nobody above the floor without playing?", at_the_floor(), plays=True
    ),
    "gameability_gap": Question(
        "Are scripted players far from the best?", answers.mindless_gap, plays=True
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
"""Every question by OpenEnv's id."""
