"""Plays episodes of the oracle or a random player as trajectories for a warm start."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_bench.analysis.failures import find_labeler
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.loading import LoadedModel
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.models.reasoning import stop_text
from ragen_bench.suites import EnvPool
from ragen_envs.core.failures import FailureLabeler, FinishedEpisode
from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.policies import random_actions
from ragen_envs.core.protocol import ResponseFormat, format_answer
from ragen_starpo.rollout.chat_tokens import ChatTokens
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory
from ragen_starpo.thoughts import write_thought

_ROOM = 1 << 20


class Demonstrator:
    """Plays episodes of a player in `PLAYERS` with responses in a model's tokens.

    The model's tokenizer encodes the responses. They end as the model's own do: with the first
    token that its chat template puts after a response, if that token ends a turn. In the format
    `think` they begin with the state and the plan, see `ragen_starpo.thoughts`. They are not
    truncated at `max_tokens`.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        response_format: ResponseFormat,
        max_tokens: int,
        player: str = "oracle",
    ) -> None:
        self._loaded, self._format = loaded, response_format
        self._random = player == "random"
        self._chat = ChatTokens(loaded.chat)
        self._pool = EnvPool(response_format)
        stop = stop_text(response_format, constrain=False)
        self._ending = Ending(
            loaded.tokenizer, loaded.ends, Sampling(1.0, max_tokens, stop, seed=0)
        )
        first = self._chat.observation("-", [])[0]
        self._end = [first] if not stop and first in loaded.ends else []

    def episode(self, env: str, split: Split, index: int) -> TokenTrajectory:
        """Return one episode; the index seeds the thoughts' wording and random actions too."""
        game_env = self._pool.take(env, split)
        episode = Episode(Task(env, split, index, 0), 0, game_env, self._format)
        on_tokens = TokenEpisode(
            episode, index, self._chat, self._ending, _ROOM, lambda turn: turn.reward
        )
        stream = RandomStream("thoughts", env, split, index)
        actions = RandomStream("random demonstrations", env, split, index)
        finished = _describe_start(episode)
        labeler = find_labeler(env) if self._format == "think" else None
        while not on_tokens.is_over:
            plan = random_actions(game_env, actions) if self._random else game_env.best_actions()
            text = _make_thought(labeler, finished, plan, stream) if labeler else ""
            response = format_answer(plan, self._format, text)
            ids = self._loaded.tokenizer(response, add_special_tokens=False)["input_ids"]
            sampled = (*ids, *self._end)
            on_tokens.take(Sampled(sampled, (0.0,) * len(sampled), stopped=True))
        self._pool.give_back(env, split, game_env)
        return on_tokens.trajectory()


def _describe_start(episode: Episode) -> FinishedEpisode:
    """Return a new episode as the labeler reads it, with its instance."""
    instance = episode.env.get_instance(episode.task.index)
    return FinishedEpisode(env=episode.env, instance=instance, steps=(), outcome="")


def _make_thought(
    labeler: FailureLabeler, episode: FinishedEpisode, plan: Sequence[str], stream: RandomStream
) -> str:
    """Return the player's thought; empty in a game whose plans the analysis does not read."""
    if not labeler.list_actions(episode):
        return ""
    scene = labeler.build_scene(episode, labeler.read_state(episode.env))
    return write_thought(scene, plan, stream)
