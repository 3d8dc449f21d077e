"""The process that plays episodes on the engines' servers, with the environment loop of `local`."""

from __future__ import annotations

import asyncio
import functools
import json
import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from omegaconf import DictConfig
from ray.exceptions import ActorUnavailableError, RayActorError, RayTaskError
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, GenerationConfig
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from ragen_bench.errors import UserError, described
from ragen_bench.models.base import Sampling
from ragen_bench.models.chat import make_chat
from ragen_bench.models.hf.sampling import Ending, refuse_no_number
from ragen_bench.visible import visible
from ragen_starpo.cluster.names import HF_ENGINE
from ragen_starpo.cluster.router import Router
from ragen_starpo.local.full_memory import find_advice
from ragen_starpo.recipes.recipe import Recipe, recipe_of
from ragen_starpo.rollout.episodes import EpisodeFactory, RolloutSpec
from ragen_starpo.rollout.selection import LOG, Ended, FailedEpisode
from ragen_starpo.rollout.trajectory import Sampled, TokenSequence, TokenTrajectory

SUCCESS = {"status": "success"}
"""Tag of a finished row in verl's queue."""


@dataclass(frozen=True)
class Group:
    """The rollouts of an instance, and the name of their group in verl's queue."""

    uid: str
    specs: tuple[RolloutSpec, ...]
    temperature: float


class Player:
    """Plays groups of episodes side by side, and puts the rows of a finished group in the queue.

    verl's own worker makes a loop by hydra for each episode, asks a router in another process
    for each response, and puts each episode in the queue by itself.
    """

    def __init__(self, config: DictConfig, servers: Sequence[Any]) -> None:
        self._recipe, self._model_dir = config.ragen.recipe, config.actor_rollout_ref.model.path
        self._day: str | None = config.ragen.get("day")
        self._is_hf = config.actor_rollout_ref.rollout.name == HF_ENGINE
        self._router = Router({str(number): server for number, server in enumerate(servers)})
        tq.init()

    async def play(self, groups: Sequence[Group], partition: str) -> None:
        """Play groups of episodes; the call ends with the last of them."""
        await asyncio.gather(*(self._play_group(group, partition) for group in groups))

    async def _play_group(self, group: Group, partition: str) -> None:
        status = "finished"
        try:
            episodes = [self.play_episode(spec, group.temperature) for spec in group.specs]
            rows = {
                f"{group.uid}_{number}_{part}": row
                for number, ended in enumerate(await asyncio.gather(*episodes))
                for part, row in enumerate(make_rows(ended))
            }
            await tq.async_kv_batch_put(
                keys=list(rows),
                partition_id=partition,
                fields=list_of_dict_to_tensordict(list(rows.values())),
                tags=[SUCCESS] * len(rows),
            )
        except Exception as error:
            if _ends_run(error):
                raise
            LOG.exception("group %s", group.uid)
            status = "failure"
        # Last, so that the rows are there.
        await tq.async_kv_batch_put(
            keys=[group.uid], partition_id=partition, tags=[{"status": status}]
        )

    async def play_episode(self, spec: RolloutSpec, temperature: float) -> Ended:
        """Play an episode, again after errors up to the recipe's `rollouts.retries`.

        An error is raised if the memory is full or the engine has ended, as for all episodes.
        """
        retries, begun_anew = recipe_of_text(self._recipe).rollouts.retries, 0
        while True:
            try:
                return replace(await self._play(spec, temperature), begun_anew=begun_anew)
            except Exception as error:  # of an environment or an engine
                cause = error.cause if isinstance(error, RayTaskError) else error
                if isinstance(cause, UserError):
                    failed = FailedEpisode(str(cause), mistake=True, exit_code=cause.exit_code)
                elif _ends_run(error):
                    raise
                else:
                    failed = FailedEpisode(described(cause))
            if failed.mistake or begun_anew == retries:
                return failed
            begun_anew += 1
            LOG.warning(
                "%s ended in an error and is begun anew: %s",
                spec.task.name,
                visible(str(failed.error)),
            )

    async def _play(self, spec: RolloutSpec, temperature: float) -> TokenTrajectory:
        factory = _episode_factory(self._recipe, self._model_dir, self._day)
        parameters = _sampling_parameters(factory.sampling, temperature)
        if not self._is_hf:
            # The engine hf knows the ends of a turn.
            parameters |= _ends_for_vllm(factory.ending)
        episode, on_tokens = factory.begin(spec)
        # One server for all turns, so that it has the earlier ones in its cache.
        conversation = f"{spec.seed}/{spec.task.name}"
        name, server = self._router.acquire_server(conversation)
        try:
            while not on_tokens.is_over:
                # vLLM does not accept these arguments.
                extra: dict[str, object] = {}
                if self._is_hf:
                    extra = {"stream": spec.stream(on_tokens.key), "conversation": conversation}
                output = await server.generate.remote(
                    request_id=uuid.uuid4().hex,
                    prompt_ids=on_tokens.ids,
                    sampling_params=dict(parameters),
                    **extra,
                )
                ids = output.token_ids
                # Engines may continue after the end of a response.
                count = factory.ending.find_end(ids, 0) or len(ids)
                log_probs = tuple((output.log_probs or [])[:count])
                if not all(map(isfinite, log_probs)):
                    refuse_no_number()
                stopped = factory.ending.is_stopped(ids[:count])
                on_tokens.take(Sampled(tuple(ids[:count]), log_probs, stopped))
            trajectory = on_tokens.trajectory()
        except BaseException:
            factory.give_up(episode)
            raise
        finally:
            self._router.release_server(name)
        factory.end(episode)
        return trajectory


def _ends_run(error: Exception) -> bool:
    """Return whether an error is one of a full memory, or of an engine that has ended."""
    is_dead = isinstance(error, RayActorError) and not isinstance(error, ActorUnavailableError)
    return is_dead or find_advice(error) is not None


def _sampling_parameters(sampling: Sampling, temperature: float) -> dict[str, object]:
    stop = {"stop": [sampling.stop], "include_stop_str_in_output": True} if sampling.stop else {}
    return {
        "temperature": temperature,
        "max_tokens": sampling.max_tokens,
        "top_p": 1.0,
        "top_k": -1,
        "logprobs": True,
        **stop,
    }


def _ends_for_vllm(ending: Ending) -> dict[str, object]:
    """Return the settings by which vLLM ends an answer where the harness does."""
    return {
        "stop": list(ending.texts),
        "include_stop_str_in_output": True,
        "stop_token_ids": sorted(ending.ends),
        "skip_special_tokens": False,  # a text that stops may be one
    }


def make_rows(ended: Ended) -> list[dict[str, Tensor | dict[str, bytes]]]:
    """Return a trajectory as rows of the queue, one per sequence; the first one carries it.

    An episode that failed, or whose prompt did not fit, has two tokens that are not trained on;
    the group sampler drops it.
    """
    sequences: tuple[TokenSequence, ...] = (TokenSequence(0, ()),)
    if isinstance(ended, TokenTrajectory):
        sequences = ended.sequences
    # The queue would split a dataclass into its fields.
    pickled = pickle.dumps(ended)
    rows = []
    for number, sequence in enumerate(sequences):
        ids, mask, start = [0, 0], [0, 0], 1
        if sequence.turns:
            # verl's prompt is the first observation, and its response the rest.
            ids, mask, start = sequence.ids, sequence.mask, len(sequence.turns[0].observed)
        tokens, responses = torch.tensor(ids), torch.tensor(mask[start:])
        row: dict[str, Tensor | dict[str, bytes]] = {
            "input_ids": tokens,
            "position_ids": torch.arange(len(ids)),
            "prompts": tokens[:start],
            "responses": tokens[start:],
            "response_mask": responses,
            "loss_mask": responses,
            "extra_fields": {"ended": pickled if number == 0 else b""},
        }
        rows.append(row)
    return rows


@functools.cache
def recipe_of_text(text: str) -> Recipe:
    """Return the recipe of a run from the JSON in its configuration."""
    return recipe_of(json.loads(text), "the run")


@functools.cache
def _episode_factory(recipe: str, model_dir: str, day: str | None) -> EpisodeFactory:
    """Return the tokenizer and environments of all episodes of this process."""
    tokenizer = AutoTokenizer.from_pretrained(
        model_dir, padding_side="left", trust_remote_code=False
    )
    config = AutoConfig.from_pretrained(model_dir, trust_remote_code=False)
    context = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    # As transformers reads them from the folder.
    eos = config.eos_token_id
    if (Path(model_dir) / "generation_config.json").is_file():
        eos = GenerationConfig.from_pretrained(model_dir).eos_token_id
    ends = [*(eos if isinstance(eos, list) else [eos]), tokenizer.eos_token_id]
    return EpisodeFactory(
        recipe_of_text(recipe),
        make_chat(model_dir, tokenizer, day),
        frozenset(end for end in ends if end is not None),
        context,
    )
