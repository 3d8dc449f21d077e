"""One episode on tokens, for any driver; sampled tokens are never decoded and encoded again."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.episode import Episode
from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion, Message
from ragen_bench.models.chat import Chat, sample_conversation
from ragen_bench.models.chat_marks import remove_guards
from ragen_bench.models.chat_messages import RefusedConversationError
from ragen_bench.models.hf.sampling import TAIL_TOKENS, Ending
from ragen_bench.models.reasoning import ThoughtReader
from ragen_bench.models.thinking_marks import MARKS
from ragen_bench.runs.schema import TurnRecord
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn

_OBSERVATIONS = 1 << 9
"""Number of observations whose tokens are cached."""
_ANSWER = "An answer that stands for another."
_TURNS = 3


@dataclass(frozen=True)
class ChatTokens:
    """A chat template on tokens.

    A prompt is encoded as the template renders it. After that, sampled tokens stay as they are.
    Only the text between a response and the next one is encoded and appended: the end of its
    turn, the observation, and the opening of a response. `ends` are the ids that end a response.
    """

    chat: Chat
    ends: frozenset[int] = frozenset()

    def check(self) -> None:
        """Raise UserError if the template renders earlier responses unlike a new one's opening.

        Three turns must read as they were written, also with thoughts in marks of the template.
        """
        source = str(self.chat.tokenizer.chat_template)
        pairs = [(mark.replace("/", "", 1), mark) for mark in re.findall(r"</[\w:]+>", source)]
        known = (marks for marks in MARKS if marks.occur_in(source))
        pairs += [(marks.begin, marks.end or marks.answer) for marks in known]
        forms = [" \nUp  {0}.\n\n"]
        for begin, end in dict.fromkeys([("<think>", "</think>"), *pairs]):
            forms += [
                f"{begin}Plan {{0}}.{end}<answer>Up</answer>",
                f"{begin}\nPlan {{0}}.\n{end}\n\n<answer>\nUp {{0}}\n</answer>",
                f"Plan {{0}}.\n{end}\n\nUp {{0}}",
            ]
        for form in forms:
            messages, wanted = sample_conversation(), self._opening
            for number in range(_TURNS):
                answer, observation = form.format(number), f"Lamp {number}."
                messages += [
                    {"role": "assistant", "content": answer},
                    {"role": "user", "content": observation},
                ]
                wanted += answer + self._between(observation)
            if remove_guards(self.chat.render(messages)) != wanted:
                raise _refusal()

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
    def reader(self) -> ThoughtReader:
        """Reads the thoughts in responses."""
        return ThoughtReader(self.chat.tokenizer)

    @cached_property
    def _opening(self) -> str:
        """Text before the first response of the conversation that `_between` makes up."""
        return self.chat.render(sample_conversation())

    def observation(self, text: str, sampled: Sequence[int]) -> list[int]:
        """Return the tokens after a response, without an end of turn if it sampled one itself.

        A sampled end stays, also if the template's own end is another token.
        """
        ids = self._encode_observation(text)
        if sampled and sampled[-1] == ids[0]:
            return list(ids[1:])
        has_ended = bool(sampled) and (sampled[-1] in self.ends or self._ends_by_text(sampled))
        return list(ids[self._closing :] if has_ended else ids)

    def _ends_by_text(self, ids: Sequence[int]) -> bool:
        """Return whether tokens complete the template's end of several tokens."""
        text = self.chat.find_end_text(self.ends)
        return text != "" and text in str(self.chat.tokenizer.decode(list(ids[-TAIL_TOKENS:])))

    @cached_property
    def _closing(self) -> int:
        """Number of tokens with which the template ends a response, whatever follows it."""
        answered: Message = {"role": "assistant", "content": _ANSWER}
        try:
            conversation = self.chat.render([*sample_conversation(), answered])
        except RefusedConversationError:  # of an answer without an observation after it
            conversation = _ANSWER + self._between("+")
        following = conversation.rpartition(_ANSWER)[2]
        other = self.chat.encode(following)
        for number, (token, same) in enumerate(
            zip(self._encode_observation("-"), other, strict=False), 1
        ):
            if token != same:
                break
            if token in self.ends or self._ends_by_text(other[:number]):
                return number
        return 0

    @cached_property
    def _encode_observation(self) -> Callable[[str], tuple[int, ...]]:
        """Read the text after a response; observations are cached, since rollouts share them."""

        @lru_cache(maxsize=_OBSERVATIONS)
        def encode(text: str) -> tuple[int, ...]:
            return tuple(self.chat.encode(self._between(text)))

        return encode

    def _between(self, text: str) -> str:
        """Return the template's text between a response and the next, around an observation."""
        opening = sample_conversation()
        answered: Message = {"role": "assistant", "content": _ANSWER}
        observed: Message = {"role": "user", "content": text}
        conversation = self.chat.render([*opening, answered, observed])
        before, answer, after = conversation.partition(_ANSWER)
        if not answer or before != self._opening:
            raise _refusal()
        return after


def _refusal() -> UserError:
    return UserError(
        "the model's chat template renders an earlier answer differently from the opening "
        "of a new one, so sampled tokens cannot stay; train with another template, or "
        "set rollouts.history=none in the recipe"
    )


class TokenEpisode:
    """A running episode that waits for the tokens of the next response.

    With the full history nothing is decoded and encoded again: `ids`, those before the next
    response, only grow, by sampled tokens and by observations. The text of a response is for
    the environment alone. With a limited history each turn begins with the tokens of the
    harness's prompt. `observed` are the ids since the last response, or since this turn's
    prompt began.

    `context` is the maximum tokens of the model, responses included; `shaped` returns the
    training reward of a recorded turn; `read_state`, if given, the state before a turn.
    """

    def __init__(
        self,
        episode: Episode,
        group: int,
        chat: ChatTokens,
        ending: Ending,
        context: int,
        shaped: Callable[[TurnRecord], float],
        read_state: Callable[[AnyEnv], Hashable] = lambda _: None,
    ) -> None:
        self._episode, self._group = episode, group
        self._read_state = read_state
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
        completion = self._ending.make_completion(prompt, sampled.ids)
        form, state = self._episode.env.response_format, self._read_state(self._episode.env)
        self._episode.take(self._chat.reader.read(completion, form, self.ids[:prompt]))
        record = self._episode.last_turn
        reward, is_void = self._shaped(record), not record.actions
        self._turns.append(Turn(tuple(self.observed), sampled, reward, state, is_void))
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
