"""OpenEnv's questions about an environment, each with the function that answers it.

The ids are those of `severity-v2.json`, which OpenEnv installs; RFC 008 explains them. The texts
are our own. This module does not import OpenEnv.
"""

from __future__ import annotations

from typing import NamedTuple

from ragen_bench.audit.certificate import answers, checks
from ragen_bench.audit.certificate.answers import (
    NO_PACKAGE,
    AnswerFunction,
    combine,
    exempt,
    for_suite,
    not_asked,
    of_package,
    run_kit,
    stays_at_floor,
    with_openenv,
)

OPENENV = "0.10.0"
"""OpenEnv's release that defines these questions."""
POLICY = "v2"
"""Version of OpenEnv's severity policy."""


class Question(NamedTuple):
    """A question and the function that answers it.

    Attributes:
        text: Question in our own words.
        answer: Function from the evidence to the answer.
        plays: Whether the answer needs the panel of scripted players.
    """

    text: str
    answer: AnswerFunction
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
    "manifest": Question(
        "Is its manifest valid and within bounds?", of_package(checks.check_manifest)
    ),
    "reproducible_build": Question(
        "Do two builds give the same image?", for_suite(exempt(_NO_BUILD), NO_PACKAGE)
    ),
    "image_hygiene": Question("Is the image clean?", of_package(checks.check_hygiene)),
    "layout": Question("Is the package free of archives?", of_package(checks.check_layout)),
    "sbom": Question(
        "Does a list of its software come with the image?",
        for_suite(exempt(_NO_LIST), NO_PACKAGE),
    ),
    "oci_labels": Question("Do labels say what the image is?", of_package(checks.check_labels)),
    "resource_declaration": Question(
        "Are its resources declared?", of_package(checks.check_resources)
    ),
    "timeout_ceiling": Question("Is an episode's time bounded?", of_package(checks.check_timeout)),
    "dependency_pinning": Question(
        "Has everything it installs one version?", of_package(checks.check_pins)
    ),
    "task_distribution_pinning": Question(
        "Are its instances fixed?", for_suite(checks.check_shipped, _NO_SPLITS)
    ),
}
_RUNTIME = {
    "startup": Question("Does it start, reset and step?", run_kit("reset_and_step", "close_twice")),
    "reward_well_formed": Question(
        "Is every reward a finite number in the declared range?",
        lambda evidence: (
            combine(run_kit("rewards"), with_openenv(checks.check_reward_range))
            if evidence.is_registered
            else run_kit("rewards")
        )(evidence),
        plays=True,
    ),
    "rubric_introspectable": Question(
        "Can the parts of its reward be inspected?",
        for_suite(exempt(_NO_RUBRIC), _NO_PARTS),
    ),
    "observation_schema": Question(
        "Does every observation have the declared form?",
        run_kit("observation_space", "action_space"),
    ),
    "state_contract": Question(
        "Does its state name the episode and count the steps?", with_openenv(checks.check_state)
    ),
    "trajectory_record": Question(
        "Is an episode recorded?",
        exempt("the server keeps none; `ragen-bench evaluate` records every turn"),
    ),
    "reward_attribution": Question(
        "Is each part of a reward attributed?",
        for_suite(exempt("a reward has no parts"), _NO_PARTS),
    ),
    "tool_declaration_accuracy": Question("Are the declared tools there?", exempt(_NO_TOOLS)),
    "task_declaration_accuracy": Question(
        "Are there as many tasks as declared?", with_openenv(checks.check_tasks)
    ),
    "seed_control": Question(
        "Does the seed decide the instance?", run_kit("seeds_matter", "reset_forgets")
    ),
    "episode_determinism": Question(
        "Does the same seed give the same episode?",
        run_kit("same_seed_same_episode", "global_random_not_read"),
    ),
    "network_policy": Question("Does play stay off the network?", checks.check_network),
    "host_containment": Question(
        "Does play leave files and processes alone?", checks.check_machine
    ),
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
        "Is the solution kept from the player?", with_openenv(checks.check_secrets)
    ),
}
_SEMANTIC = {
    "oracle_max": Question(
        "Does the best player reach the best score?",
        lambda evidence: (
            answers.reaches_best(combine(run_kit("oracle_reaches_ceiling"), checks.check_solved))
            if evidence.is_registered
            else run_kit("oracle_reaches_ceiling")
        )(evidence),
    ),
    "floor_gap": Question(
        "Is doing nothing worth much less than the best?", answers.has_floor_gap, plays=True
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
    "reward_reachability": Question(
        "Does a beginner ever score?", answers.is_reward_reachable, plays=True
    ),
    "difficulty_separation": Question("Do better models score more?", not_asked(_MODELS)),
    "headroom": Question("Is there room above the best model?", not_asked(_MODELS)),
    "variance_bound": Question("Is a model's reward steady enough?", not_asked(_MODELS)),
    "training_signal": Question(
        "Do models improve by training?", not_asked("of whoever trains; see the results' studies")
    ),
    "adversarial_floor": Question(
        "Is nobody above the floor without playing?", stays_at_floor(), plays=True
    ),
    "gameability_gap": Question(
        "Are scripted players far from the best?", answers.has_mindless_gap, plays=True
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
"""All questions by OpenEnv's ids."""
