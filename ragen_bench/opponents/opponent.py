"""Opponents: any model of the harness can play against the model that is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count

from ragen_bench.environments import needs_opponent
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models import Model, Request, Sampling, ServerOptions, ask_all, resolve
from ragen_bench.models.base import (
    Completion,
    Engine,
    RequestFailure,
    Side,
    VisiblePlayer,
    notes_of,
)
from ragen_bench.models.prompt import opponent_conversation
from ragen_bench.models.provider import IN_SUBPROCESS, Isolation, find_provider
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.reasoning import stop_text, without_reasoning
from ragen_bench.models.scripted import OracleModel
from ragen_envs.core.protocol import ResponseFormat

_SCRIPTED = ("random", "oracle")


@dataclass(frozen=True)
class Opponent:
    """The opponent of an evaluation; its server's connection options are not recorded.

    `thinking_marks` are "" for those of its template.
    """

    model: str
    response_format: ResponseFormat
    server: ServerOptions | None = None
    thinking_marks: str = ""


def load(
    name: str,
    server: ServerOptions | None,
    opponent: Opponent | None,
    random_player: RandomPlayer | None = None,
    isolation: Isolation = IN_SUBPROCESS,
    thinking_marks: str = "",
) -> Model:
    """Load a model and its opponent, if any; the same model on the same server is loaded once.

    `random_player` plays for `random`, which then has no opponent; agents run in `isolation`.
    `thinking_marks` are the model's, and its opponent's if that is the same model.
    UserError as in `resolve`, for either model.
    """
    if opponent is None:
        return resolve(name, server, random_player, isolation, thinking_marks)
    is_same = (name, server) == (opponent.model, opponent.server)
    marks = opponent.thinking_marks or (thinking_marks if is_same else "")
    pair = [(name, server, thinking_marks), (opponent.model, opponent.server, marks)]
    # A server that cannot be reached should be reported before weights are loaded.
    order = sorted(dict.fromkeys(pair), key=lambda model: not find_provider(model[0]).served)
    models = {
        model: resolve(*model[:2], isolation=isolation, thinking_marks=model[2]) for model in order
    }
    return ModelPair(models[pair[0]], models[pair[1]], opponent.response_format)


def pair_with_rule(player: Model, env: str) -> Model:
    """Return a scripted player for the baselines; in two-player games the rule opposes it."""
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
    """Load a model as the `answerer` of an environment, a function from its text to the response.

    The responses are a function of the seed, the number of the call and the text, as far as the
    model's are. The format must equal the environment's `answerer_format`. The models random and
    oracle read no text.

    Raises:
        UserError: The model cannot be loaded. The function raises it if the model fails or the text
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


class ModelPair:
    """The model that is scored and its opponent, which may be the same model."""

    def __init__(self, player: Model, opponent: Model, opponent_format: ResponseFormat) -> None:
        self.player, self.opponent = player, opponent
        self._opponent_format = opponent_format

    @property
    def slots(self) -> int:
        """The smaller number of the two, since at times all episodes wait for the same model."""
        return min(self.player.slots, self.opponent.slots)

    @property
    def group_size(self) -> int:
        """The larger number of the two."""
        return max(self.player.group_size, self.opponent.group_size)

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how both are asked."""
        return list(dict.fromkeys([*notes_of(self.player), *notes_of(self.opponent)]))

    def identity(self) -> JsonObject:
        """Return the player's identity; the record has another field for the opponent's."""
        return self.player.identity()

    def probe(self) -> str:
        """Return where both run."""
        return f"{self.player.probe()}; the opponent: {self.opponent.probe()}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine of both; the opponent samples alike, in its own format."""
        stop = stop_text(self._opponent_format, sampling.constrain)
        with ExitStack() as on_error:
            player = self.player.engine(sampling)
            on_error.callback(player.close)
            opponent = self.opponent.engine(replace(sampling, stop=stop))
            on_error.pop_all()
        return _AlternatingEngine({"player": player, "opponent": opponent})


class _AlternatingEngine:
    """Asks one side until none of its requests is left, then the other side.

    Requests to the active side are submitted at once. Those to the other side wait, and are
    submitted in order of their keys. So the batches do not depend on the order of responses.
    """

    def __init__(self, engines: dict[Side, Engine]) -> None:
        self._engines = engines
        self._active: Side = "player"
        self._unanswered = 0
        self._waiting: list[Request] = []

    def submit(self, request: Request) -> None:
        if request.side == self._active:
            self._engines[self._active].submit(request)
            self._unanswered += 1
        else:
            self._waiting.append(request)

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Wait for responses of the active side, after changing sides if it has no requests."""
        if not self._unanswered:
            self._active = "opponent" if self._active == "player" else "player"
            waiting, self._waiting = self._waiting, []
            for request in sorted(waiting, key=lambda request: request.key):
                self.submit(request)
        outcomes = self._engines[self._active].collect()
        self._unanswered -= len(outcomes)
        return outcomes

    def close(self) -> None:
        self._waiting = []
        with ExitStack() as stack:
            for engine in self._engines.values():
                stack.callback(engine.close)
