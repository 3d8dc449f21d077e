"""Conversations as tokens: what was sampled is never decoded and encoded again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragen_bench.errors import UserError
from ragen_bench.models.base import Message
from ragen_bench.models.chat import Chat, sample_conversation

_OBSERVATIONS = 1 << 9
"""So many are remembered as tokens."""
_ANSWER = "An answer that stands for another."


@dataclass(frozen=True)
class ChatTokens:
    """A chat template on tokens.

    A prompt is encoded as the template renders it. After that, what the model sampled stays as it
    is, and only the text between its answer and its next one is encoded and appended: the end of
    its turn, the observation and what opens an answer.

    Attributes:
        chat: the tokenizer and its template.
    """

    chat: Chat

    def check(self) -> None:
        """Check that observations can follow answers.

        Raises:
            UserError: if the template shows an earlier answer otherwise than it opens a new one:
                what the model sampled could not stand in the conversation.
        """
        self._between("-")

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return a conversation as tokens, up to where the model answers."""
        return list(
            self._read(tuple((message["role"], message["content"]) for message in messages))
        )

    @cached_property
    def _read(self) -> Callable[[tuple[tuple[str, str], ...]], list[int]]:
        """Read a conversation, given as pairs.

        Rollouts of an instance begin alike, one after the other, so the last one is remembered.
        """

        @lru_cache(maxsize=1)
        def read(messages: tuple[tuple[str, str], ...]) -> list[int]:
            return self.chat.tokenize([{"role": role, "content": text} for role, text in messages])

        return read

    @cached_property
    def _asked(self) -> str:
        """What stands before the first answer of the conversation that `_between` makes up."""
        return self.chat.render(sample_conversation())

    def observation(self, text: str, sampled: Sequence[int]) -> list[int]:
        """Return what follows an answer.

        Args:
            text: of the observation.
            sampled: the answer. If it ended itself, the template's own end of turn, which would be
                there twice, is left out.
        """
        ids = self._follows(text)
        return list(ids[1:] if sampled and sampled[-1] == ids[0] else ids)

    @cached_property
    def _follows(self) -> Callable[[str], tuple[int, ...]]:
        """Read what the template puts between answers, around an observation.

        Rollouts of an instance meet the same observations, so the latest ones are remembered.
        """

        @lru_cache(maxsize=_OBSERVATIONS)
        def follows(text: str) -> tuple[int, ...]:
            between = self._between(text)
            return tuple(self.chat.tokenizer(between, add_special_tokens=False)["input_ids"])

        return follows

    def _between(self, text: str) -> str:
        """Return what the template puts between an answer and the next, around an observation."""
        asked = sample_conversation()
        answered: Message = {"role": "assistant", "content": _ANSWER}
        observed: Message = {"role": "user", "content": text}
        conversation = self.chat.render([*asked, answered, observed])
        before, answer, after = conversation.partition(_ANSWER)
        if not answer or before != self._asked:
            raise UserError(
                "the model's chat template shows an earlier answer otherwise than it opens a new "
                "one, so the tokens that were sampled cannot stay; train with another template, or "
                "set a recipe's rollouts.history=none"
            )
        return after
