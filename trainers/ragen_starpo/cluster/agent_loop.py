"""Plays one episode on verl's servers, with the environment loop of the local driver."""

from __future__ import annotations

import functools
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

from ray.exceptions import RayTaskError
from transformers import AutoConfig, AutoTokenizer, GenerationConfig
from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
)
from verl.workers.rollout.replica import TokenOutput

from ragen_bench.errors import UserError, described
from ragen_bench.models.base import Sampling
from ragen_bench.models.chat import make_chat
from ragen_bench.models.hf.sampling import Ending
from ragen_starpo.cluster.names import HF_ENGINE
from ragen_starpo.recipes.recipe import Recipe, recipe_of
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.episodes import EpisodeFactory, RolloutSpec
from ragen_starpo.rollout.selection import LOG, Ended, FailedEpisode
from ragen_starpo.rollout.trajectory import Sampled, TokenSequence, TokenTrajectory


class EpisodeLoop(AgentLoopBase):
    """Plays the episode of a row of verl's batch; verl makes one loop per episode."""

    async def run(  # type: ignore[override] # verl passes the row's columns as keywords
        self,
        sampling_params: dict[str, object],  # noqa: ARG002 - verl's name
        *,
        specs: list[RolloutSpec],
        temperature: float,
        session_id: int,
        **_: object,
    ) -> list[AgentLoopOutput]:
        """Play an episode, again after errors up to the recipe's `rollouts.retries`.

        `specs` are the rollouts of the row's group, and `session_id` is the index of this
        one. Each sequence becomes a row; `extra_fields` of the first one has the pickled
        trajectory or `FailedEpisode`.
        """
        spec = specs[session_id]
        tokenizer: Any = self.tokenizer
        filler = int(tokenizer.eos_token_id or 0)
        retries, begun_anew = recipe_of_text(self.config.ragen.recipe).rollouts.retries, 0
        while True:
            try:
                trajectory, version = await self._play(spec, temperature)
            except UserError as error:
                failed = FailedEpisode(str(error), mistake=True, exit_code=error.exit_code)
            except Exception as error:  # noqa: BLE001 - of an environment or an engine
                cause = error.cause if isinstance(error, RayTaskError) else error
                failed = FailedEpisode(described(cause))
            else:
                ended = replace(trajectory, begun_anew=begun_anew)
                return _outputs(ended, version, filler)
            if failed.mistake or begun_anew == retries:
                return _outputs(failed, None, filler)
            begun_anew += 1
            LOG.warning("%s ended in an error and is begun anew: %s", spec.task.name, failed.error)

    async def _play(
        self, spec: RolloutSpec, temperature: float
    ) -> tuple[TokenTrajectory, int | None]:
        """Return an episode, and the version of the weights that sampled its last response."""
        model_dir = self.config.actor_rollout_ref.model.path
        factory = _episode_factory(self.config.ragen.recipe, model_dir)
        parameters = _sampling_parameters(factory.sampling, temperature)
        ends = _ends_for_vllm(factory.ending)
        version = None
        episode, on_tokens = factory.begin(spec)
        try:
            while not on_tokens.is_over:
                output = await self._respond(on_tokens, spec, parameters, ends)
                version = output.extra_fields.get("global_steps")
                ids, ending = output.token_ids, factory.ending
                # Engines may continue after the end of a response.
                finished = (n for n in range(1, len(ids)) if ending.is_finished(ids[:n]))
                count = next(finished, len(ids))
                log_probs = tuple((output.log_probs or [])[:count])
                stopped = ending.is_stopped(ids[:count])
                on_tokens.take(Sampled(tuple(ids[:count]), log_probs, stopped))
            trajectory = on_tokens.trajectory()
        except BaseException:
            factory.give_up(episode)
            raise
        factory.end(episode)
        return trajectory, version

    async def _respond(
        self,
        episode: TokenEpisode,
        spec: RolloutSpec,
        parameters: dict[str, object],
        ends: dict[str, object],
    ) -> TokenOutput:
        # The same for all turns, so that one server has the earlier turns in its cache.
        name = f"{spec.seed}/{spec.task.name}"
        # vLLM does not accept these arguments, and the other engine knows the ends of a turn.
        extra, sampling = {}, dict(parameters)
        if self.rollout_config.name == HF_ENGINE:
            extra = {"stream": spec.stream(episode.key), "conversation": name}
        else:
            sampling |= ends
        output: TokenOutput = await self.server_manager.generate(
            request_id=name, prompt_ids=episode.ids, sampling_params=sampling, **extra
        )
        return output


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


def _outputs(ended: Ended, version: int | None, filler: int) -> list[AgentLoopOutput]:
    """Return a trajectory as verl's rows, one per sequence.

    An episode that failed, or whose prompt did not fit, has one token that is not trained on; the
    group sampler drops it.
    """
    sequences: tuple[TokenSequence, ...] = (TokenSequence(0, ()),)
    score = 0.0
    if isinstance(ended, TokenTrajectory):
        sequences, score = ended.sequences, ended.score
    # verl's queue would split a dataclass into its fields.
    pickled = pickle.dumps(ended)
    outputs = []
    for number, sequence in enumerate(sequences):
        ids, mask, log_probs, start = [filler, filler], [0, 0], [0.0, 0.0], 1
        if sequence.turns:
            ids, mask, log_probs = sequence.ids, sequence.mask, sequence.log_probs
            # verl's prompt is the first observation, and its response the rest.
            start = len(sequence.turns[0].observed)
        output = AgentLoopOutput(
            prompt_ids=ids[:start],
            response_ids=ids[start:],
            response_mask=mask[start:],
            response_logprobs=log_probs[start:],
            # With a score, verl skips its reward workers; training uses the trajectory.
            reward_score=score,
            num_turns=len(sequence.turns),
            metrics=AgentLoopMetrics(),
            extra_fields={
                "ended": pickled if number == 0 else b"",
                "min_global_steps": version,
                "max_global_steps": version,
                # verl copies the last sequence's to the others.
                "reward_extra_info": {},
            },
        )
        outputs.append(output)
    return outputs


@functools.cache
def recipe_of_text(text: str) -> Recipe:
    """Return the recipe of a run from the JSON in its configuration."""
    return recipe_of(json.loads(text), "the run")


@functools.cache
def _episode_factory(recipe: str, model_dir: str) -> EpisodeFactory:
    """Return the tokenizer and environments of all episodes of this process."""
    tokenizer = AutoTokenizer.from_pretrained(model_dir, padding_side="left")
    config = AutoConfig.from_pretrained(model_dir)
    context = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    # As transformers reads them from the folder.
    eos = config.eos_token_id
    if (Path(model_dir) / "generation_config.json").is_file():
        eos = GenerationConfig.from_pretrained(model_dir).eos_token_id
    ends = [*(eos if isinstance(eos, list) else [eos]), tokenizer.eos_token_id]
    return EpisodeFactory(
        recipe_of_text(recipe),
        make_chat(model_dir, tokenizer),
        frozenset(end for end in ends if end is not None),
        context,
    )
