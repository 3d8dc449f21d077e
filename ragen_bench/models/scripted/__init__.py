"""`random` and `oracle`: the random baseline and the optimal score."""

from __future__ import annotations

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import (
    CallEngine,
    Completion,
    Engine,
    Model,
    Request,
    Sampling,
    refuse_constraint,
)
from ragen_bench.models.provider import ModelSettings, provider
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.third_party import ThirdPartyEnv
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import blind_answer, oracle_answer, random_answer
from ragen_envs.registration import find_blind_script


class _ScriptedModel:
    slots = 64
    group_size = 1

    def identity(self) -> JsonObject:
        """Return nothing: the version of the package identifies it."""
        return {}

    def probe(self) -> str:
        """Return where it runs."""
        return "in this process"


class RandomModel(_ScriptedModel):
    """Answers with random legal actions, or as the user's player in third-party environments."""

    def __init__(self, player: RandomPlayer | None = None) -> None:
        self._player = player

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine whose completions are a pure function of seed and key."""
        refuse_constraint(sampling, "random")
        return CallEngine(
            lambda requests: [Completion(self._answer(r, sampling.seed)) for r in requests]
        )

    def _answer(self, request: Request, seed: int) -> str:
        stream, env = RandomStream("random", seed, request.key), request.env
        if self._player and isinstance(env, ThirdPartyEnv):
            return self._player.answer(env.observations, stream, request.label)
        return random_answer(env, stream)


class BlindModel(_ScriptedModel):
    """Answers with the blind script of each environment, which reads no observation."""

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine of the scripts' completions."""
        refuse_constraint(sampling, "blind")
        return CallEngine(lambda requests: [Completion(self._answer(r)) for r in requests])

    def _answer(self, request: Request) -> str:
        turn = request.turn_id
        script = find_blind_script(turn.env) if turn else None
        if turn is None or script is None:
            raise UserError("blind needs an environment whose game ships a blind script")
        return blind_answer(request.env, script, turn.turn)


class OracleModel(_ScriptedModel):
    """Answers with the best actions, from the hidden state."""

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine of the oracle's completions."""
        refuse_constraint(sampling, "oracle")
        return CallEngine(lambda requests: [Completion(oracle_answer(r.env)) for r in requests])


@provider(
    "random", form="random", help="random legal actions: the baseline", tools=True, pictures=True
)
def load_random(_name: str, settings: ModelSettings) -> Model:
    """Return the random player."""
    return RandomModel(settings.random_player)


@provider(
    "oracle",
    form="oracle",
    help="the best actions, from the hidden state: the optimal score",
    tools=True,
    pictures=True,
)
def load_oracle(_name: str, _settings: ModelSettings) -> Model:
    """Return the oracle."""
    return OracleModel()
