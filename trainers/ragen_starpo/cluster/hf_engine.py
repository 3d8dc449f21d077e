"""The `hf` rollout engine: a server that samples with transformers, and its parts in verl."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ray
import torch
import torch.distributed
from torch import Tensor
from verl.plugin.platform import get_platform
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry, TokenOutput

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import load
from ragen_envs.core.instances import RandomStream
from ragen_starpo.cluster.hosts import find_server, server_name
from ragen_starpo.cluster.names import HF_ENGINE
from ragen_starpo.rollout.trajectory import Sampled, sampled_of

_QUIET = 0.02
"""Seconds to wait for further requests before a batch is sampled."""


@dataclass(frozen=True)
class Request:
    """A conversation to respond to; the labels in `stream`, no seed, decide its random numbers."""

    ids: tuple[int, ...]
    sampling: Sampling
    stream: tuple[str | int, ...]


class HFServer:
    """Samples as the local driver does: a response's tokens depend on its stream alone.

    The keys and values of conversations are kept between their turns, until there are new
    weights or the server sleeps. `largest` is the maximum requests per batch.
    """

    def __init__(self, model_dir: str, largest: int) -> None:
        self._loaded = load(model_dir)
        # The trainer's weights are float32, also where the published ones have 16 bits.
        self._loaded.model.float()
        self._largest = largest
        self._waiting: list[tuple[Request, asyncio.Future[Sampled]]] = []
        self._version: int | None = None
        self._answering: asyncio.Task[None] | None = None
        self._conversations: set[str] = set()
        self._decoder: tuple[Sampling, Decoder] | None = None

    async def take(self, weights: Mapping[str, Tensor], version: int | None) -> None:
        """Sample with these weights from now on."""
        self._loaded.model.load_state_dict(weights)
        self._version = version
        self._conversations = set()
        if self._decoder is not None:
            self._decoder[1].forget()

    async def generate(
        self,
        request_id: str,  # noqa: ARG002 - verl's name
        prompt_ids: Sequence[int],
        sampling_params: JsonObject,
        stream: Sequence[str | int] = (),
        conversation: str = "",
        **_: object,
    ) -> TokenOutput:
        """Sample a response to `prompt_ids`; `stream` are the labels of its random numbers.

        `conversation` is the same for all its turns. Of `sampling_params`, `temperature`,
        `max_tokens` and `stop` are used.
        """
        self._conversations.add(conversation)
        stop = sampling_params.get("stop") or [""]
        sampling = Sampling(
            sampling_params["temperature"], sampling_params["max_tokens"], stop[0], 0
        )
        future: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        self._waiting.append((Request(tuple(prompt_ids), sampling, tuple(stream)), future))
        if self._answering is None or self._answering.done():
            self._answering = asyncio.create_task(self._answer())
        sampled = await future
        return TokenOutput(
            token_ids=list(sampled.ids),
            log_probs=list(sampled.log_probs),
            stop_reason="completed",
            extra_fields={"global_steps": self._version},
        )

    async def sleep(self) -> None:
        """Free the memory of all keys and values for other processes; the model stays."""
        self._decoder = None
        self._conversations = set()
        gc.collect()
        torch.cuda.empty_cache()

    async def wake_up(self) -> None:
        pass

    async def _answer(self) -> None:
        while self._waiting:
            known = 0
            while known != len(self._waiting):
                known = len(self._waiting)
                await asyncio.sleep(_QUIET)
            sampling = self._waiting[0][0].sampling
            alike = [pair for pair in self._waiting if pair[0].sampling == sampling]
            alike = alike[: self._largest]
            self._waiting = [pair for pair in self._waiting if pair not in alike]
            requests = [request for request, _ in alike]
            try:
                slots = max(len(alike), min(self._largest, len(self._conversations)))
                # The decoder has earlier turns in its cache; other settings need another.
                if self._decoder is None or self._decoder[0] != sampling:
                    decoder = Decoder(self._loaded, sampling, slots, log_probs=True, exchange=True)
                    self._decoder = sampling, decoder
                decoder = self._decoder[1]
                decoder.grow(slots)
                answers = await asyncio.to_thread(_sample, decoder, requests)
            except Exception as error:  # noqa: BLE001 - raised in `generate`
                self._decoder = None
                for _, future in alike:
                    future.set_exception(error)
            else:
                for (_, future), sampled in zip(alike, answers, strict=True):
                    future.set_result(sampled)


class HFAdapter(BaseRollout):
    """Hands the weights of a training process to its server, a process on the same node."""

    async def resume(self, tags: list[str]) -> None:
        pass

    async def release(self) -> None:
        pass

    async def update_weights(
        self,
        weights: Iterable[tuple[str, Tensor]],
        wire_format: str = "named_tensors",  # noqa: ARG002 - verl's name
        global_steps: int | None = None,
        **_: object,
    ) -> None:
        """Send all weights to the server, by the model's own names, with adapters merged."""
        state = {name: tensor.cpu() for name, tensor in weights}
        server = ray.get_actor(server_name(HF_ENGINE, torch.distributed.get_rank()))
        await server.take.remote(state, global_steps)


class HFReplica(RolloutReplica):
    """Starts a server on the node and device of each training process."""

    async def launch_servers(self) -> None:
        """Start the server; UserError if `cluster.tensor_parallel` is above 1."""
        if self.world_size != 1:
            raise UserError("the engine hf samples in one process; set cluster.tensor_parallel=1")
        workers: Any = self.workers  # verl types it as None until they exist
        node, devices = await workers[0].__ray_call__.remote(locate)
        platform = get_platform()
        visible = {platform.visible_devices_envvar(): devices} if devices else {}
        independent = dict.fromkeys(platform.ray_noset_envvars(), "1")
        server = find_server(
            HF_ENGINE, self.replica_rank, node, {**independent, **visible}, self.max_concurrency
        )
        await server.begin.remote(self.model_config.path, self.config.max_num_seqs)
        self.servers = [server]
        self._server_handle = server
        self._server_address = server_name(HF_ENGINE, self.replica_rank)


def register() -> None:
    """Register this engine with verl."""
    RolloutReplicaRegistry.register(HF_ENGINE, lambda: HFReplica)


def locate(_worker: object) -> tuple[str, str]:
    """Return the node of a training process, and its GPU, if it has one."""
    context = ray.get_runtime_context()
    ids = context.get_accelerator_ids().get("GPU", []) if torch.cuda.is_available() else []
    return context.get_node_id(), ",".join(ids)


def _sample(decoder: Decoder, requests: Sequence[Request]) -> list[Sampled]:
    answers = [decoder.submit(request.ids, RandomStream(*request.stream)) for request in requests]
    ended = 0
    while ended < len(answers):
        ended += len(decoder.collect())
    return [sampled_of(answer, decoder.ending) for answer in answers]
