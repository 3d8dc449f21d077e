"""Rules of the leaderboard: which runs may be entries, and which entries are ranked together."""

from __future__ import annotations

from ragen_bench.leaderboard.strict_json import SAMPLES
from ragen_bench.runs.schema import RunConfig
from ragen_bench.suites import SUITES, Suite

SEED = 0
"""Seed of every entry; with a free choice, a submitter could send the best of many seeds."""
SPLITS = ("test", "sealed", "drawn")


def explain_refusal(config: RunConfig) -> str | None:
    """Return why a run cannot be an entry and what to do, in one line, or None."""
    if config.opponent:
        return (
            "the run has an opponent, on which its scores depend; an entry is of a named suite: "
            f"evaluate with --suite {' or '.join(SUITES)}"
        )
    suite = SUITES.get(config.suite)
    if suite is None:
        return (
            f"the run is of the unknown suite {config.suite!r}"
            if config.suite
            else "the run is of chosen environments"
        ) + f"; an entry is of a named suite: evaluate with --suite {' or '.join(SUITES)}"
    return _explain_suite(config, suite) or _explain_settings(config, suite)


def _explain_suite(config: RunConfig, suite: Suite) -> str | None:
    name = config.suite
    if config.suite_version != suite.version:
        return (
            f"the run is of version {config.suite_version} of the suite {name}, which has "
            f"version {suite.version} here; evaluate with this version of ragen-bench"
        )
    instances = [(env.id, env.instances) for env in config.envs]
    if instances == list(suite.instances.items()):
        return None
    for env, count in instances:
        if 0 < count < suite.instances.get(env, 0):
            return (
                f"the run has {count} of the {suite.instances[env]} instances of {env}; "
                "evaluate without --limit"
            )
    return f"the run's environments are not those of the suite {name}; evaluate with --suite {name}"


def _explain_settings(config: RunConfig, suite: Suite) -> str | None:
    split, samples = config.split, config.samples
    if split not in SPLITS:
        return f"the run is of the {split} split; evaluate with --split {' or '.join(SPLITS)}"
    if split != "sealed" and config.sealed_key_hash:
        return f"the run is of the {split} split and names a sealed key; evaluate again"
    if samples < suite.samples:
        return (
            f"the run has samples: {samples}, and the suite needs {suite.samples}; "
            f"evaluate with --samples {suite.samples}"
        )
    if samples > SAMPLES:
        return f"the run has samples: {samples}; evaluate with --samples {SAMPLES} at most"
    if config.seed != SEED:
        return (
            f"the run has the seed {config.seed}, and could be the best of many; "
            f"evaluate with --seed {SEED}"
        )
    if config.max_tokens < 1 or config.temperature < 0:
        return "the run's max_tokens or temperature is out of range; evaluate again"
    return None


def nondefault_settings(config: RunConfig) -> list[str]:
    """Return the settings for which an entry is ranked separately; [] for most entries.

    Entries of the same suite and split are ranked together if they have the same list and, on the
    sealed split, the same key.
    """
    suite = SUITES[config.suite]
    settings = []
    if config.constrained:
        settings.append("constrained to the form")
    if config.response_format != "think":
        settings.append(f"format {config.response_format}")
    if config.history is not None:
        settings.append(f"history {config.history}")
    if config.max_tokens != suite.max_tokens:
        settings.append(f"{config.max_tokens} tokens per response")
    return settings
