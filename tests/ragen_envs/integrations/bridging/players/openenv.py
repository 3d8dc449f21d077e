"""The owner's client, connected to a server in the same event loop; one of each for an id."""

import asyncio
import atexit
from contextlib import AsyncExitStack
from functools import lru_cache

from openenv.core import GenericEnvClient

from ragen_envs.integrations.openenv import Limits
from tests.ragen_envs.integrations.bridging.scripts import Step
from tests.ragen_envs.integrations.openenv.running import beside

_LOOP = asyncio.new_event_loop()
_OPEN = AsyncExitStack()
_LIMITS = Limits(max_message=1 << 23)  # a hostile text of a million characters, six bytes each


@atexit.register
def _close():
    _LOOP.run_until_complete(_OPEN.aclose())
    _LOOP.close()


def play(task, answers):
    client = _client(task.env, task.response_format)
    return _LOOP.run_until_complete(_play(client, task, answers))


@lru_cache(maxsize=1)
def _client(env, response_format):
    return _LOOP.run_until_complete(_connected(env, response_format))


async def _connected(env, response_format):
    await _OPEN.aclose()  # the id before
    server = beside(env, ("test",), response_format, limits=_LIMITS)
    url = await _OPEN.enter_async_context(server)
    return await _OPEN.enter_async_context(GenericEnvClient(base_url=url))


async def _play(client, task, answers):
    result = await client.reset(seed=task.seed, noise_seed=task.noise_seed, split=task.split)
    first, steps = result.observation["text"], []
    for answer in answers:
        result = await client.step({"message": answer})
        told = result.observation
        steps.append(
            Step(
                told["text"],
                result.reward,
                told["terminated"],
                told["truncated"],
                told["info"].get("success"),
            )
        )
        assert result.done == (told["terminated"] or told["truncated"])
    return first, steps
