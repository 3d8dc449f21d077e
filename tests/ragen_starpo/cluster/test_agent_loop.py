"""An episode as verl's process plays it, without Ray."""

import asyncio
import json
import pickle
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from omegaconf import OmegaConf
from ray.exceptions import ActorDiedError, RayTaskError
from verl.workers.rollout.replica import TokenOutput

from ragen_bench.errors import UserError
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.episodes import rollout_specs
from ragen_starpo.rollout.selection import FailedEpisode
from ragen_starpo.rollout.trajectory import TokenTrajectory

from .test_runs import SETTINGS


class Server:
    """Answers by one token, but for its first answers, which are errors."""

    def __init__(self, *errors):
        self.errors, self.asked = list(errors), []

    @property
    def generate(self):
        return SimpleNamespace(remote=self.answer)

    async def answer(self, *, request_id, prompt_ids, sampling_params, stream, conversation):
        self.asked.append((conversation, tuple(prompt_ids), stream))
        if self.errors:
            raise self.errors.pop(0)
        return TokenOutput(token_ids=[5], log_probs=[-1.0], extra_fields={"global_steps": 4})


@pytest.fixture
def played(small, monkeypatch):
    from ragen_starpo.cluster import agent_loop

    monkeypatch.setattr(agent_loop.tq, "init", lambda: None)

    def run(server, retries, **changed):
        rollouts = {**SETTINGS["rollouts"], "max_tokens": 1, "retries": retries, **changed}
        recipe = recipe_of({**SETTINGS, "model": str(small), "rollouts": rollouts}, "a test")
        engine = {"rollout": {"name": "hf"}, "model": {"path": str(small)}}
        config = {"ragen": {"recipe": json.dumps(recipe.as_json())}, "actor_rollout_ref": engine}
        player = agent_loop.Player(OmegaConf.create(config), [server])
        specs = rollout_specs(recipe.envs, recipe.rollouts, recipe.seed, 0)
        ended = asyncio.run(player.play_episode(specs[1], 1.0))
        (row,) = agent_loop.make_rows(ended)
        assert pickle.loads(row["extra_fields"]["ended"]) == ended
        return row, ended

    return run


def gone():
    return RayTaskError("generate", "a\nlong\ntraceback", OSError("gone")).as_instanceof_cause()


def test_an_error_is_tried_again_by_the_same_requests(played, caplog):
    quiet, failing = Server(), Server(gone())
    (_, without), (output, ended) = played(quiet, 0), played(failing, 1)
    assert isinstance(ended, TokenTrajectory)
    assert ended == replace(without, begun_anew=1)
    assert failing.asked[1:] == quiet.asked
    assert failing.asked[0] == quiet.asked[0]
    assert output["response_mask"][0] == output["loss_mask"][0] == 1
    ids = torch.cat([output["prompts"], output["responses"]])
    assert ids.tolist() == output["input_ids"].tolist() == ended.sequences[0].ids
    assert "train" in caplog.text
    assert "is begun anew: OSError: gone" in caplog.text


def test_one_that_is_given_up_is_a_row_that_is_not_learned_from(played):
    output, ended = played(Server(gone(), gone()), 1)
    assert ended == FailedEpisode("OSError: gone")
    assert output["input_ids"].tolist() == [0, 0]
    assert output["response_mask"].tolist() == [0]


class EngineDeadError(Exception):
    """As vLLM names its error."""


@pytest.mark.parametrize(
    "error",
    [
        RayTaskError("generate", "", torch.OutOfMemoryError("x")).as_instanceof_cause(),
        RayTaskError("generate", "", EngineDeadError("see above")).as_instanceof_cause(),
        RuntimeError("CUDA Error: out of memory at /src/csrc/cumem_allocator.cpp:62"),
        ActorDiedError(),
    ],
)
def test_a_full_memory_or_a_dead_engine_ends_the_run(played, error):
    """As an episode's error it would cost its group, or name no setting to change."""
    server = Server(error)
    with pytest.raises(type(error)):
        played(server, 3)
    assert len(server.asked) == 1


def test_the_call_that_plays_groups_raises_it(played, monkeypatch):
    from ragen_starpo.cluster import agent_loop

    put = []

    async def note(**given):
        put.append(given["tags"])

    async def end(self, spec, temperature):
        raise spec

    monkeypatch.setattr(agent_loop.tq, "async_kv_batch_put", note)
    monkeypatch.setattr(agent_loop.Player, "play_episode", end)
    player = object.__new__(agent_loop.Player)
    play = agent_loop.Group("0", (KeyError(),), 1.0)
    asyncio.run(player.play([play], "train"))
    assert put == [[{"status": "failure"}]]
    full = agent_loop.Group("1", (torch.OutOfMemoryError("x"),), 1.0)
    with pytest.raises(torch.OutOfMemoryError):
        asyncio.run(player.play([full], "train"))
    assert len(put) == 1


def test_a_users_mistake_is_not_tried_again(played):
    server = Server(UserError("no such file", exit_code=1))
    assert played(server, 3)[1] == FailedEpisode("no such file", mistake=True, exit_code=1)
    assert len(server.asked) == 1


def test_an_answer_that_has_no_room_is_a_mistake(played):
    """It is found where the first episode of a process is to begin."""
    ended = played(Server(), 3, max_tokens=9, context=9)[1]
    said = "an answer of 9 tokens leaves no room in a context of 9; lower rollouts.max_tokens"
    assert ended == FailedEpisode(said, mistake=True)


def test_environments_of_episodes_that_failed_are_closed(played, monkeypatch):
    closed = []
    monkeypatch.setattr(FrozenLakeEnv, "close", lambda self: closed.append(self))
    played(Server(), 1)
    assert not closed
    played(Server(gone(), gone()), 1)
    assert len(closed) == len(set(map(id, closed))) == 2


def test_an_environment_that_cannot_begin_is_closed(played, monkeypatch):
    closed = []

    def reset(self, **_):
        raise OSError("no level")

    monkeypatch.setattr(FrozenLakeEnv, "reset", reset)
    monkeypatch.setattr(FrozenLakeEnv, "close", lambda self: closed.append(self))
    assert played(Server(), 1)[1] == FailedEpisode("OSError: no level")
    assert len(set(map(id, closed))) == len(closed) == 2
