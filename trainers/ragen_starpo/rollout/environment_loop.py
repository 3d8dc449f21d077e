"""One episode on tokens: the same for every driver, whatever engine samples."""

from __future__ import annotations

from collections.abc import Callable

from ragen_bench.episodes.episode import Episode
from ragen_bench.models.base import Completion
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.runs.schema import TurnRecord
from ragen_starpo.rollout.chat_tokens import ChatTokens
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn


class TokenEpisode:
    """An episode under way, which waits for the tokens of the next answer.

    With the full history nothing is decoded and encoded again: `ids` only ever grows, by what the
    engine sampled and by what an observation reads as. The text of an answer is for the environment
    alone. With a limited history each turn begins anew, with the tokens of what the harness asks a
    model in it.

    Args:
        episode: the same as the harness plays; its history is how much the model reads in a turn.
        group: equal for rollouts of the same instance in one iteration.
        chat: of the model.
        ending: reads answers as texts, and has the limit of one.
        context: the most tokens that the model takes, answers included.
        shaped: from a turn as recorded to the reward that is learned.

    Attributes:
        observed: ids since the last answer, or since this turn's conversation began.
        ids: what the next answer follows.
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
    def over(self) -> bool:
        """Whether nothing is to be sampled any more."""
        return self._episode.over

    @property
    def key(self) -> str:
        """The name of the answer that is waited for, which its random numbers follow from."""
        return self._episode.request().key

    def take(self, sampled: Sampled) -> None:
        """Step the environment with an answer, and read what it observes."""
        self.ids += sampled.ids
        prompt = len(self.ids) - len(sampled.ids)
        self._episode.take(self._ending.make_completion(prompt, sampled.ids))
        record = self._episode.last_turn
        self._turns.append(Turn(tuple(self.observed), sampled, self._shaped(record)))
        if self.over:
            return
        if self._split:
            self._ask()
        else:
            self.observed = self._chat.observation(self._episode.observation, sampled.ids)
            self.ids += self.observed
            self._see_room()

    def trajectory(self) -> TokenTrajectory:
        """Return the finished episode."""
        turns = tuple(self._turns)
        return TokenTrajectory(self._group, turns, self._episode.record(), self._split)

    def _ask(self) -> None:
        """Begin with the conversation that the harness sends."""
        self.observed = self._chat.prompt(self._episode.request().messages)
        self.ids = list(self.observed)
        self._see_room()

    def _see_room(self) -> None:
        if len(self.ids) + self._ending.limit > self._context:
            self._episode.take(Completion("", len(self.ids), 0, finish="context"))
