"""One episode on tokens, for any driver and engine."""

from __future__ import annotations

from collections.abc import Callable

from ragen_bench.episodes.episode import Episode
from ragen_bench.models.base import Completion
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.runs.schema import TurnRecord
from ragen_starpo.rollout.chat_tokens import ChatTokens
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn


class TokenEpisode:
    """A running episode that waits for the tokens of the next response.

    With the full history nothing is decoded and encoded again: `ids`, those before the next
    response, only grow, by sampled tokens and by observations. The text of a response is for
    the environment alone. With a limited history each turn begins with the tokens of the
    harness's prompt. `observed` are the ids since the last response, or since this turn's
    prompt began.

    `context` is the maximum tokens of the model, responses included; `shaped` returns the
    training reward of a recorded turn.
    """

    def __init__(
        self,
        episode: Episode,
        group: int,
        chat: ChatTokens,
        ending: Ending,
        context: int,
        shaped: Callable[[TurnRecord], float],
    ) -> None:
        self._episode, self._group = episode, group
        self._chat, self._ending = chat, ending
        self._context, self._shaped = context, shaped
        self._turns: list[Turn] = []
        self.observed: list[int] = []
        self.ids: list[int] = []
        self._split = episode.history is not None
        self._ask()

    @property
    def is_over(self) -> bool:
        """Whether the episode needs no more tokens."""
        return self._episode.over

    @property
    def key(self) -> str:
        """Key of the next response, which its random numbers depend on."""
        return self._episode.request().key

    def take(self, sampled: Sampled) -> None:
        """Step the environment with a response, and read the observation."""
        self.ids += sampled.ids
        prompt = len(self.ids) - len(sampled.ids)
        self._episode.take(self._ending.make_completion(prompt, sampled.ids))
        record = self._episode.last_turn
        self._turns.append(Turn(tuple(self.observed), sampled, self._shaped(record)))
        if self.is_over:
            return
        if self._split:
            self._ask()
        else:
            self.observed = self._chat.observation(self._episode.observation, sampled.ids)
            self.ids += self.observed
            self._check_room()

    def trajectory(self) -> TokenTrajectory:
        """Return the finished episode."""
        turns = tuple(self._turns)
        return TokenTrajectory(self._group, turns, self._episode.record(), self._split)

    def _ask(self) -> None:
        """Begin with the harness's prompt."""
        self.observed = self._chat.prompt(self._episode.request().messages)
        self.ids = list(self.observed)
        self._check_room()

    def _check_room(self) -> None:
        if len(self.ids) + self._ending.limit > self._context:
            self._episode.take(Completion("", len(self.ids), 0, finish="context"))
