"""Opponents: any model of the harness can play against the model that is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from ragen_bench.errors import UserError
from ragen_bench.models import Model, Request, Sampling, ServerOptions, ask_all, resolve
from ragen_bench.models.base import VisiblePlayer
from ragen_bench.models.prompt import opponent_conversation
from ragen_bench.models.provider import IN_SUBPROCESS, Isolation, find_provider
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.reasoning import stop_text, without_reasoning
from ragen_bench.models.scripted import OracleModel
from ragen_bench.opponents.pair import ModelPair
from ragen_bench.two_player import needs_opponent
from ragen_envs.core.protocol import ResponseFormat

_SCRIPTED = ("random", "oracle")


@dataclass(frozen=True)
class Opponent:
    """The opponent of an evaluation.

    Attributes:
        model: Name of the model.
        response_format: Format of its responses.
        server: Connection options, if it is on a server; not recorded.
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
    """Load a model and its opponent, if any.

    Two models with the same name and server are loaded once.

    Args:
        name: Model name.
        server: Connection options.
        opponent: The opponent.
        random_player: Player of `random`, which then has no opponent.
        isolation: Where agents run.

    Raises:
        UserError: As `resolve`, for either model.
    """
    if opponent is None:
        return resolve(name, server, random_player, isolation)
    pair = [(name, server), (opponent.model, opponent.server)]
    # A server that cannot be reached should be reported before weights are loaded.
    order = sorted(dict.fromkeys(pair), key=lambda model: not find_provider(model[0]).served)
    models = {model: resolve(*model, isolation=isolation) for model in order}
    return ModelPair(models[pair[0]], models[pair[1]], opponent.response_format)


def pair_with_rule(player: Model, env: str) -> Model:
    """Return a scripted player as it plays for the baselines of an environment.

    In a two-player game the rule is its opponent.
    """
    return ModelPair(player, OracleModel(), "plain") if needs_opponent(env) else player


def make_answerer(
    name: str,
    response_format: ResponseFormat = "think",
    *,
    temperature: float = 0.5,
    max_tokens: int = 200,
    seed: int = 0,
    server: ServerOptions | None = None,
) -> Callable[[str], str]:
    """Load a model as the `answerer` of an environment.

    Its responses are a function of the seed, the number of the call and the text, as far as the
    model's are.

    Args:
        name: Model name, but not random or oracle, which read no text.
        response_format: Format of its responses, equal to the environment's `answerer_format`.
        temperature: 0 for greedy decoding.
        max_tokens: Maximum tokens of a response.
        seed: Seed of the sampling.
        server: Connection options.

    Returns:
        A function from the answerer's text to its response.

    Raises:
        UserError: There is no such model. The function raises it if the model fails or the text
            does not fit into its context.
    """
    if name in _SCRIPTED:
        raise UserError(f"{name} reads no text, so it cannot be an answerer; choose another model")
    model = resolve(name, server)
    sampling = Sampling(temperature, max_tokens, stop_text(response_format, False), seed)
    numbers = count()

    def answer(text: str) -> str:
        key = f"answerer/{next(numbers)}"
        messages = opponent_conversation(text, response_format)
        request = Request(messages, key, VisiblePlayer(response_format), "opponent")
        [completion] = ask_all(model, [request], sampling)
        if completion.finish == "context":
            raise UserError(f"{name} has no room for an answer to {len(text)} characters")
        if completion.reasoning and response_format == "think":
            raise UserError(
                f"{name} reasons by itself, and its server reports the thoughts separately: "
                'set response_format="answer"'
            )
        return without_reasoning(completion, response_format).text

    return answer
