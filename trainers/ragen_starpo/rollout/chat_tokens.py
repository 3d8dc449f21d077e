"""Conversations as tokens: sampled tokens are never decoded and encoded again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragen_bench.errors import UserError
from ragen_bench.models.base import Message
from ragen_bench.models.chat import Chat, sample_conversation

_OBSERVATIONS = 1 << 9
"""Number of observations whose tokens are cached."""
_ANSWER = "An answer that stands for another."


@dataclass(frozen=True)
class ChatTokens:
    """A chat template on tokens.

    A prompt is encoded as the template renders it. After that, sampled tokens stay as they are.
    Only the text between a response and the next one is encoded and appended: the end of its
    turn, the observation, and the opening of a response.
    """

    chat: Chat

    def check(self) -> None:
        """Raise UserError if observations cannot follow responses.

        That is so if the template renders an earlier response differently from the opening
        of a new one.
        """
        self._between("-")

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return a conversation as tokens, up to the model's response."""
        return list(
            self._tokenize(tuple((message["role"], message["content"]) for message in messages))
        )

    @cached_property
    def _tokenize(self) -> Callable[[tuple[tuple[str, str], ...]], list[int]]:
        """Tokenizes (role, content) pairs; caches the last result for a group's rollouts."""

        @lru_cache(maxsize=1)
        def tokenize(messages: tuple[tuple[str, str], ...]) -> list[int]:
            return self.chat.tokenize([{"role": role, "content": text} for role, text in messages])

        return tokenize

    @cached_property
    def _opening(self) -> str:
        """Text before the first response of the conversation that `_between` makes up."""
        return self.chat.render(sample_conversation())

    def observation(self, text: str, sampled: Sequence[int]) -> list[int]:
        """Return the tokens after a response.

        If the response ended itself, the template's own end of turn is left out, since it
        would be there twice.
        """
        ids = self._encode_observation(text)
        return list(ids[1:] if sampled and sampled[-1] == ids[0] else ids)

    @cached_property
    def _encode_observation(self) -> Callable[[str], tuple[int, ...]]:
        """Read the text after a response; observations are cached, since rollouts share them."""

        @lru_cache(maxsize=_OBSERVATIONS)
        def encode(text: str) -> tuple[int, ...]:
            between = self._between(text)
            return tuple(self.chat.tokenizer(between, add_special_tokens=False)["input_ids"])

        return encode

    def _between(self, text: str) -> str:
        """Return the template's text between a response and the next, around an observation."""
        opening = sample_conversation()
        answered: Message = {"role": "assistant", "content": _ANSWER}
        observed: Message = {"role": "user", "content": text}
        conversation = self.chat.render([*opening, answered, observed])
        before, answer, after = conversation.partition(_ANSWER)
        if not answer or before != self._opening:
            raise UserError(
                "the model's chat template renders an earlier answer differently from the opening "
                "of a new one, so sampled tokens cannot stay; train with another template, or "
                "set rollouts.history=none in the recipe"
            )
        return after
