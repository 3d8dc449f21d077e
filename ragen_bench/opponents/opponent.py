"""Opponents: any model of the harness plays against the model that is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from ragen_bench.errors import UserError
from ragen_bench.models import Model, Request, Sampling, ServerOptions, ask_all, resolve
from ragen_bench.models.prompt import opponent_conversation
from ragen_bench.models.provider import IN_SUBPROCESS, Isolation
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.reasoning import stop_text, without_reasoning
from ragen_bench.models.registry import find_provider
from ragen_bench.models.scripted import OracleModel
from ragen_bench.opponents.pair import Pair
from ragen_bench.two_player import needs_opponent
from ragen_envs.core.protocol import FreeText, ResponseFormat

_SCRIPTED = ("random", "oracle")


@dataclass(frozen=True)
class _Unseen:
    """A player of whom only the form is known: its model reads nothing but the messages."""

    response_format: ResponseFormat
    legal_actions: tuple[str, ...] = ()
    free_text: FreeText | None = None
    actions_this_turn: int = 1

    def best_actions(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Opponent:
    """Who plays against the model of an evaluation.

    Attributes:
        model: its name.
        response_format: the form of its answers.
        server: how its server is reached, if it has one; it is not recorded.
    """

    model: str
    response_format: ResponseFormat
    server: ServerOptions | None = None


def load(
    name: str,
    server: ServerOptions | None,
    opponent: Opponent | None,
    random_player: RandomPlayer | None = None,
    isolation: Isolation = IN_SUBPROCESS,
) -> Model:
    """Return a model by its name; with an opponent, the pair of them.

    If both have the same name and server, they are one model, loaded once.

    Args:
        name: one of the forms of `ragen_bench.models.list_providers`.
        server: how its server is reached.
        opponent: who plays against it.
        random_player: who answers for `random`, which then has no opponent.
        isolation: where agents of the user's own run.

    Raises:
        UserError: as `resolve`, for either.
    """
    if opponent is None:
        return resolve(name, server, random_player, isolation)
    wanted = [(name, server), (opponent.model, opponent.server)]
    # A server that cannot be reached should be reported before weights are loaded.
    order = sorted(dict.fromkeys(wanted), key=lambda model: not find_provider(model[0]).served)
    models = {model: resolve(*model, isolation=isolation) for model in order}
    return Pair(models[wanted[0]], models[wanted[1]], opponent.response_format)


def against_rule(player: Model, env: str) -> Model:
    """Return a player as it plays an environment for floor and ceiling.

    Where an opponent is asked, the rule replies.

    Args:
        player: a scripted one.
        env: the environment's id.
    """
    return Pair(player, OracleModel(), "plain") if needs_opponent(env) else player


def answerer(
    name: str,
    response_format: ResponseFormat = "think",
    *,
    temperature: float = 0.5,
    max_tokens: int = 200,
    seed: int = 0,
    server: ServerOptions | None = None,
) -> Callable[[str], str]:
    """Return a model of the harness as the `answerer` of an environment that asks one.

    The model is loaded at once. Its answers are a function of the seed, the number of the call and
    what it reads, as far as the model's are.

    Args:
        name: Model name, but not random or oracle, which read no text.
        response_format: the form of its answers, which the environment's `answerer_format` must be.
        temperature: 0 for greedy answers.
        max_tokens: tokens in an answer at most.
        seed: of the sampling.
        server: how its server is reached.

    Returns:
        A function from the text that the answerer reads to its answer.

    Raises:
        UserError: if there is no such model. The function raises it too, if the model has no answer
            or no room for one.
    """
    if name in _SCRIPTED:
        raise UserError(f"{name} reads no text, so it cannot be an answerer; choose another model")
    model = resolve(name, server)
    sampling = Sampling(temperature, max_tokens, stop_text(response_format, False), seed)
    numbers = count()

    def ask(text: str) -> str:
        key = f"answerer/{next(numbers)}"
        messages = opponent_conversation(text, response_format)
        request = Request(messages, key, _Unseen(response_format), "opponent")
        [completion] = ask_all(model, [request], sampling)
        if completion.finish == "context":
            raise UserError(f"{name} has no room for an answer to {len(text)} characters")
        if completion.reasoning and response_format == "think":
            raise UserError(
                f"{name} reasons by itself, and its server reports the thoughts apart: "
                'take response_format="answer"'
            )
        return without_reasoning(completion, response_format).text

    return ask
