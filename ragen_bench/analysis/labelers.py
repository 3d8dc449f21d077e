"""The failure labeler of an environment, from the game's facts."""

from __future__ import annotations

from collections.abc import Mapping

from ragen_bench.analysis.failures import COMMON
from ragen_bench.environments import find_class
from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.core.game_spec import GameSpec, import_attribute
from ragen_envs.registration import all_games, find_game, is_registered

EXTERNAL_LABELS = {
    "lost": "The environment ended the episode without success.",
    "out_of_turns": "The turns ran out before the episode was a success.",
}
"""The labels of an environment without a `GameSpec`."""


class ExternalFailures(FailureLabeler):
    """Labels episodes of an environment without a `GameSpec`, by how they ended."""

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return whether the environment or the number of turns ended the episode."""
        ended = episode.steps[-1].terminated
        return Failure("lost" if ended else "out_of_turns", len(episode.steps))


def find_labeler(env: str) -> FailureLabeler:
    """Return the failure labeler of an environment.

    Raises:
        KeyError: If there is no such environment.
    """
    game = _find_game(env)
    if game is None:
        return ExternalFailures()
    labeler: FailureLabeler = import_attribute(game.labeler)()
    return labeler


def find_labels(env: str) -> Mapping[str, str]:
    """Return the failure labels of an environment, each with one sentence; common ones first."""
    game = _find_game(env)
    return {**COMMON, **(game.labels if game else EXTERNAL_LABELS)}


def _find_game(env: str) -> GameSpec | None:
    if is_registered(env):
        return find_game(env)
    # An external environment may be another variant of a registered game.
    name = find_class(env).game
    return next((game for game in all_games() if game.name == name), None)
