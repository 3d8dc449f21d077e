"""Environments with one mistake each: for each check the subject, the fact and the mistake."""

from tests.ragen_envs.testing.broken import api, determinism, episode, fairness, isolation

BROKEN = {**api.BROKEN, **episode.BROKEN, **determinism.BROKEN, **isolation.BROKEN}
BROKEN |= fairness.BROKEN
