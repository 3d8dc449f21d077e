"""Models: the protocols that every provider follows, requests, answers and sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from ragen_bench.errors import UserError
from ragen_envs.core.player import Player

Finish = Literal["stop", "length", "context"]
"""Why an answer ended: by itself or at the stop text, at its token limit, or never begun because
the conversation leaves it no room in the model's context."""


Seat = Literal["player", "opponent"]
"""Who is asked: the model that is scored, or the one that plays against it."""
OPPONENTS = "/opponent"
"""The end of the key of a request to the opponent, which is that of the player's turn else."""


class Message(TypedDict):
    """One message of a conversation, as chat templates take them.

    Attributes:
        role: "system", "user" or "assistant".
        content: the text.
        pictures: of the boards that the text leaves out, in order, as PNG.
    """

    role: str
    content: str
    pictures: NotRequired[list[bytes]]


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled.

    Attributes:
        temperature: 0 for the likeliest token always.
        max_tokens: tokens in one answer at most.
        stop: generation ends after this text, which stays part of the answer; "" for none.
        seed: with the request's key it decides every random choice.
        constrain: whether the engine lets only answers pass that have the form and name actions of
            the environment.
        top_p: only the likeliest tokens, of this probability together, are drawn from.
    """

    temperature: float
    max_tokens: int
    stop: str
    seed: int
    constrain: bool = False
    top_p: float = 1.0


@dataclass(frozen=True)
class Place:
    """Which turn of a run an answer is asked for.

    Attributes:
        env: the environment's id.
        split: where the instance comes from.
        instance: its number in the run.
        sample: which of several episodes on the same instance.
        turn: of the episode, from 0 on.
    """

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
class Request:
    """One answer that is asked for.

    Attributes:
        messages: the conversation, ending with the user.
        key: names environment, split, instance, sample, turn and, if it is the opponent, the seat;
            no two requests of a run share it.
        env: the environment itself, or the opponent's seat in it, for scripted players that may
            look behind the text, and for the grammar of its answers.
        seat: who is asked.
        place: where in a run it stands, None if in none.
        kept: what those who are asked keep of the episode, by their seats; it is emptied at its
            end.
    """

    messages: Sequence[Message]
    key: str
    env: Player
    seat: Seat = "player"
    place: Place | None = None
    kept: dict[Seat, Any] = field(default_factory=dict, compare=False)

    @property
    def spoken(self) -> str:
        """Which question it is, for messages."""
        if self.place is None:
            return f"question {self.key}"
        return f"{self.place}, as the opponent" if self.seat == "opponent" else str(self.place)


@dataclass(frozen=True)
class Completion:
    """One answer.

    Attributes:
        text: the whole answer.
        prompt_tokens: tokens that the model read; 0 for what has no tokens.
        completion_tokens: tokens that were sampled, the end-of-turn token included.
        finish: why it ended; with "context" there is no text.
        reasoning: thoughts that a server reports apart from the answer.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish: Finish = "stop"
    reasoning: str = ""


@dataclass(frozen=True)
class Fault:
    """An answer that could not be had, though the request was sound: the server's doing.

    Attributes:
        reason: what happened, in one line.
    """

    reason: str


class Engine(Protocol):
    """Works on several requests at once; for one run, one sampling and one caller."""

    def submit(self, request: Request) -> None:
        """Take a request; the work on it may begin at once."""
        ...

    def collect(self) -> Sequence[tuple[Request, Completion | Fault]]:
        """Wait until at least one request is answered, and return all that are.

        To be called only while a submitted request is unanswered.

        Raises:
            UserError: if no request of this run could ever be answered.
        """
        ...

    def close(self) -> None:
        """Drop what is unanswered, and let go of what only this engine needed."""
        ...


class Model(Protocol):
    """Answers conversations."""

    @property
    def slots(self) -> int:
        """How many requests its engine works on at once."""
        ...

    @property
    def group_size(self) -> int:
        """How many episodes are scheduled together, to be replayed together if a run is resumed.

        1 where an answer depends on its own request alone. An engine that generates in batches
        rounds as the batch demands: only the same episodes in the same order give the same bytes.
        """
        ...

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this model from another of the same name, for the record."""
        ...

    def probe(self) -> str:
        """Return where the model runs, in a few words.

        Raises:
            UserError: if it is not there, with what to do.
        """
        ...

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that answers with this sampling.

        Raises:
            UserError: if the model cannot sample so.
        """
        ...


def notes_of(model: Model) -> list[str]:
    """Return what a user should know of how a model is asked, once it has an engine."""
    return list(getattr(model, "notes", ()))


def refuse_constraint(sampling: Sampling, name: str) -> None:
    """Raise if answers are to be constrained, in form or in tokens, and the model cannot do it.

    Args:
        sampling: what is asked for.
        name: the model's.

    Raises:
        UserError: if it is more than the model can.
    """
    if sampling.constrain:
        raise UserError(f"{name} cannot constrain responses by a grammar; remove --constrain")
    if sampling.top_p != 1:
        raise UserError(f"{name} cannot sample with top-p; remove --top-p")


def refuse_limit(sampling: Sampling, name: str, context: int | None) -> None:
    """Raise if the longest answer alone would fill the model's context.

    Args:
        sampling: what is asked for.
        name: the model's.
        context: its tokens, if they are known.

    Raises:
        UserError: if every conversation would overflow.
    """
    if context is not None and sampling.max_tokens >= context:
        raise UserError(
            f"{name!r} has a context of {context} tokens, which leaves no room for a question: "
            f"lower --max-tokens, which is {sampling.max_tokens}"
        )


class CallEngine:
    """The engine of models that answer by a call: all that waits when it is collected.

    Args:
        answer: from requests to their answers, in order.
    """

    def __init__(self, answer: Callable[[Sequence[Request]], Sequence[Completion]]) -> None:
        self._answer = answer
        self._waiting: list[Request] = []

    def submit(self, request: Request) -> None:
        """Take a request."""
        self._waiting.append(request)

    def collect(self) -> Sequence[tuple[Request, Completion | Fault]]:
        """Answer all requests that wait."""
        waiting, self._waiting = self._waiting, []
        return list(zip(waiting, self._answer(waiting), strict=True))

    def close(self) -> None:
        """Drop what waits."""
        self._waiting = []


def ask_all(model: Model, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
    """Return one completion for each request, in order.

    Raises:
        UserError: if one could not be had.
    """
    answers: dict[str, Completion] = {}
    with closing(model.engine(sampling)) as engine:
        for number, request in enumerate(requests):
            if number - len(answers) >= model.slots:
                _take(engine, answers)
            engine.submit(request)
        while len(answers) < len(requests):
            _take(engine, answers)
    return [answers[request.key] for request in requests]


def _take(engine: Engine, answers: dict[str, Completion]) -> None:
    for request, answer in engine.collect():
        if isinstance(answer, Fault):
            raise UserError(answer.reason, exit_code=1)
        answers[request.key] = answer
