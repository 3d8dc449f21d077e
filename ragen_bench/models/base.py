"""The interface of all models: requests, completions, sampling, and the protocols of engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal, NotRequired, Protocol, TypedDict, runtime_checkable

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_envs.core.protocol import AnswerFormat, FreeText, Player

Finish = Literal["stop", "length", "context", "filtered"]
"""Why a completion ended: by itself or at the stop text, at its token limit, before it began
because the conversation leaves no room for it in the model's context, or by a filter of the
provider's or the model's refusal."""
Side = Literal["player", "opponent"]
"""Who answers a request: the model that is scored, or its opponent."""
MAX_TOKENS = 10**12  # far beyond every context; a record with more could not be read again
OPPONENT_SUFFIX = "/opponent"
"""Suffix that distinguishes the key of the opponent's request from the player's."""


class Message(TypedDict):
    """One message of a conversation, as chat templates take them.

    Attributes:
        role: "system", "user" or "assistant".
        content: The text.
        pictures: PNG files of the boards that the text leaves out, in order.
    """

    role: str
    content: str
    pictures: NotRequired[list[bytes]]


@dataclass(frozen=True)
class Sampling:
    """Sampling settings.

    Attributes:
        temperature: 0 for greedy decoding.
        max_tokens: Maximum tokens of a completion.
        stop: Text after which generation ends; it is kept in the completion. "" for none.
        seed: With the request's key, determines all random numbers.
        constrain: Constrain completions to the environment's format and actions.
        top_p: Sample from the smallest set of likeliest tokens with this total probability.
    """

    temperature: float
    max_tokens: int
    stop: str
    seed: int
    constrain: bool = False
    top_p: float = 1.0


@dataclass(frozen=True)
class TurnId:
    """A turn of a run: samples are episodes on an instance, and turns are numbered from 0."""

    env: str
    split: str
    instance: int
    sample: int
    turn: int

    def __str__(self) -> str:
        return (
            f"{self.env}/{self.split}, instance {self.instance}, sample {self.sample}, "
            f"turn {self.turn}"
        )


@dataclass(frozen=True)
class VisiblePlayer:
    """The part of an environment that a model may know, in place of the environment."""

    response_format: AnswerFormat
    legal_actions: tuple[str, ...] = ()
    free_text: FreeText | None = None
    actions_this_turn: int = 1

    def best_actions(self) -> tuple[str, ...]:
        """Return no actions: the best ones are hidden."""
        return ()


@dataclass(frozen=True)
class Request:
    """A request for one completion.

    Attributes:
        messages: The conversation, ending with a user message.
        key: Unique in a run: environment, split, instance, sample, turn and, for the opponent,
            `OPPONENT_SUFFIX`.
        env: The environment, or the opponent's view of it. Scripted players read its hidden state,
            and the grammar its actions.
        side: Who answers.
        turn_id: The turn; None outside a run.
        state: What each side's model keeps for the episode; cleared at its end.
    """

    messages: Sequence[Message]
    key: str
    env: Player
    side: Side = "player"
    turn_id: TurnId | None = None
    state: dict[Side, object] = field(default_factory=dict, compare=False)

    @property
    def label(self) -> str:
        """The request in messages for the user."""
        if self.turn_id is None:
            return f"question {self.key}"
        return f"{self.turn_id}, as the opponent" if self.side == "opponent" else str(self.turn_id)


@dataclass(frozen=True)
class Completion:
    """One completion.

    Attributes:
        text: The whole text.
        prompt_tokens: Tokens that the model read; 0 for a model without tokens.
        completion_tokens: Tokens that were sampled, including the end-of-turn token.
        finish: Why it ended; with "context" the text is empty.
        reasoning: Thoughts that a server reports separately from the text.
        tokens_estimated: Whether the completion's tokens are estimated.
        message: The server's message in a conversation with calls, to be sent back unread.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish: Finish = "stop"
    reasoning: str = ""
    tokens_estimated: bool = False
    message: JsonObject | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class RequestFailure:
    """A valid request that a server did not answer, with the error in one line."""

    reason: str


class Engine(Protocol):
    """Answers several requests at once, for one run, one sampling and one caller."""

    def submit(self, request: Request) -> None:
        """Take a request; work on it may begin at once."""

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Wait until at least one request is answered, and return all that are.

        To be called only while a submitted request is unanswered.

        Raises:
            UserError: No request of this run can be answered.
        """

    def close(self) -> None:
        """Drop unanswered requests, and free the engine's resources."""


class Model(Protocol):
    """Answers conversations."""

    @property
    def slots(self) -> int:
        """Number of requests that its engine works on at once."""

    @property
    def group_size(self) -> int:
        """Number of episodes that are scheduled together, and replayed together on resuming.

        1 if a completion depends on its own request alone. In an engine that generates in batches,
        rounding depends on the batch: the same bytes need the same episodes in the same order.
        """

    def identity(self) -> JsonObject:
        """Return what distinguishes this model from another of the same name, for the record."""

    def probe(self) -> str:
        """Return where the model runs, in a few words.

        Raises:
            UserError: The model is not available, with what to do.
        """

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine for this sampling.

        Raises:
            UserError: The model does not support this sampling.
        """


def notes_of(model: Model) -> list[str]:
    """Return notes for the user on how a model is asked; complete once it has an engine."""
    return list(getattr(model, "notes", ()))


@runtime_checkable
class Served(Protocol):
    """A model on a server. `has_answered`: the server has answered requests of this run."""

    has_answered: bool


def expect_answers(model: Model) -> None:
    """Tell a model, and its opponent, that its server has answered requests of this run.

    A refused request is then one conversation's: it does not end the run.
    """
    for side in (model, getattr(model, "player", None), getattr(model, "opponent", None)):
        if isinstance(side, Served):
            side.has_answered = True


def resume(model: Model, identity: JsonObject) -> None:
    """Let a model ask as its recorded identity says: on its date, or with merged messages."""
    resume_model = getattr(model, "resume", None)
    if resume_model is not None:
        resume_model(identity)


def refuse_constraint(sampling: Sampling, name: str) -> None:
    """Refuse grammars and top-p for a model that supports neither."""
    if sampling.constrain:
        raise UserError(f"{name} cannot constrain responses by a grammar; remove --constrain")
    if sampling.top_p != 1:
        raise UserError(f"{name} cannot sample with top-p; remove --top-p")


def refuse_limit(sampling: Sampling, name: str, context: int | None) -> None:
    """Refuse a token limit that fills the model's context alone, if its length is known."""
    if context is not None and sampling.max_tokens >= context:
        raise UserError(
            f"{name!r} has a context of {context} tokens, which leaves no room for a question: "
            f"lower --max-tokens, which is {sampling.max_tokens}"
        )


class CallEngine:
    """The engine of a function from requests to their completions, in order."""

    def __init__(self, complete: Callable[[Sequence[Request]], Sequence[Completion]]) -> None:
        self._complete = complete
        self._waiting: list[Request] = []

    def submit(self, request: Request) -> None:
        """Take a request."""
        self._waiting.append(request)

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Answer all waiting requests."""
        waiting, self._waiting = self._waiting, []
        return list(zip(waiting, self._complete(waiting), strict=True))

    def close(self) -> None:
        """Drop all waiting requests."""
        self._waiting = []


def ask_each(
    model: Model, requests: Sequence[Request], sampling: Sampling
) -> Iterator[tuple[Request, Completion | RequestFailure]]:
    """Yield each request with its outcome, as soon as there is one.

    Raises:
        UserError: No request can be answered.
    """
    submitted = ended = 0
    with closing(model.engine(sampling)) as engine:
        while ended < len(requests):
            for request in requests[submitted : ended + model.slots]:
                engine.submit(request)
                submitted += 1
            for pair in engine.collect():
                ended += 1
                yield pair


def ask_all(model: Model, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
    """Return one completion for each request, in order.

    Raises:
        UserError: A request fails.
    """
    completions: dict[str, Completion] = {}
    for request, outcome in ask_each(model, requests, sampling):
        if isinstance(outcome, RequestFailure):
            raise UserError(outcome.reason, exit_code=1)
        completions[request.key] = outcome
    return [completions[request.key] for request in requests]
