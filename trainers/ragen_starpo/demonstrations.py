"""Episodes of the oracle, or of a random player, as trajectories for a supervised warm start."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_bench.analysis.games import reading_of
from ragen_bench.analysis.replayed_episode import ReplayedEpisode
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.loading import Loaded
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.models.reasoning import stop_text
from ragen_bench.suites import EnvPool
from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.policies import random_actions
from ragen_envs.core.protocol import ResponseFormat, format_answer
from ragen_starpo.rollout.chat_tokens import ChatTokens
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory
from ragen_starpo.thoughts import thought

_ROOM = 1 << 20


class Demonstrator:
    """Lets the oracle, or the random player, play in the words of a model.

    The answers are encoded by the model's tokenizer and ended as the model ends its own: by the
    first token of what its template puts after an answer, if that is one that ends a turn. In the
    form `think` they tell the state and the plan first, see `ragen_starpo.thoughts`.

    Args:
        loaded: the model's tokenizer and chat.
        response_format: of the answers.
        max_tokens: of an answer; those that are shown are not cut.
        player: one of `ragen_starpo.warm_start_settings.PLAYERS`.
    """

    def __init__(
        self,
        loaded: Loaded,
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
        """Return one episode.

        Args:
            env: the environment's id.
            split: where the instance comes from.
            index: the instance's seed, which the wording of the thoughts and the random player's
                actions follow from too.
        """
        made = self._pool.take(env, split)
        episode = Episode(Task(env, split, index, 0), 0, made, self._format)
        on_tokens = TokenEpisode(
            episode, index, self._chat, self._ending, _ROOM, lambda turn: turn.reward
        )
        stream = RandomStream("thoughts", env, split, index)
        actions = RandomStream("random demonstrations", env, split, index)
        whole = _whole(episode) if self._format == "think" else None
        while not on_tokens.over:
            plan = random_actions(made, actions) if self._random else made.best_actions()
            told = _thought(whole, plan, stream) if whole else ""
            answer = format_answer(plan, self._format, told)
            ids = self._loaded.tokenizer(answer, add_special_tokens=False)["input_ids"]
            sampled = (*ids, *self._end)
            on_tokens.take(Sampled(sampled, (0.0,) * len(sampled), stopped=True))
        self._pool.give_back(env, split, made)
        return on_tokens.trajectory()


def _whole(episode: Episode) -> ReplayedEpisode:
    """Return an episode that has just begun as the analysis reads it, with its instance."""
    instance = episode.env.get_instance(episode.task.index)
    return ReplayedEpisode(episode.record(), episode.env, instance, ())


def _thought(whole: ReplayedEpisode, plan: Sequence[str], stream: RandomStream) -> str:
    """Return what the player thinks now; nothing where no plan would be read."""
    game = reading_of(whole.record.env)
    if not game.actions(whole):
        return ""
    return thought(game.scene(whole, game.state(whole.env)), plan, stream)
