"""The player: from a conversation to an answer."""

from __future__ import annotations

from ppo_player.network import load, turn_of
from ppo_player.reading import arrays_of
from ppo_player.trained import TRAINED
from ragen_bench.agents import EpisodeStart, Message, Turn
from ragen_envs.core.protocol import format_answer


class Player:
    """Plays one episode: with a trained policy, or else the action that is listed first."""

    def reset(self, episode: EpisodeStart) -> None:
        """Take the game's policy, if one was trained for it."""
        self.form = episode.response_format
        self.policy = TRAINED.get(episode.environment)

    def act(self, messages: list[Message], turn: Turn) -> str:
        """Answer with the actions of the policy's most likely turn."""
        if self.policy is None:
            return format_answer(turn.legal_actions[:1], self.form)
        arrays = arrays_of(messages, self.policy.tiles)
        numbers = turn_of(arrays, load(self.policy), len(turn.legal_actions))
        return format_answer([turn.legal_actions[n - 1] for n in numbers if n], self.form)
