"""Episodes on the tokens of three families: the ids are those of the whole conversation."""

import pytest

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf_sampling import Ending
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import make_env
from ragen_envs.policies import oracle_answer
from ragen_starpo.rollout.chat_tokens import ChatTokens
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.trajectory import Sampled
from tests.ragen_starpo.chats import TEMPLATES, made


@pytest.mark.parametrize("ends_itself", [True, False])
@pytest.mark.parametrize("family", TEMPLATES)
@pytest.mark.parametrize("env", ["ragen/Bandit-v0", "ragen/FrozenLake-v0", "ragen/Sokoban-v0"])
def test_an_episode_of_the_oracle(family, env, ends_itself):
    chat, end = made(family)
    ending = Ending(chat.tokenizer, frozenset([end]), Sampling(1.0, 400, "</answer>", 0))
    env_made = make_env(env, "train", "think")
    episode = Episode(Task(env, "train", 3, 0), 0, env_made, "think")
    on_tokens = TokenEpisode(
        episode, 0, ChatTokens(chat), ending, 1 << 20, lambda turn: turn.reward
    )
    observations, answers = [episode.observation], []
    while not on_tokens.over:
        answers.append(oracle_answer(env_made))
        ids = chat.tokenizer(answers[-1], add_special_tokens=False)["input_ids"]
        sampled = (*ids, end) if ends_itself else tuple(ids)
        on_tokens.take(Sampled(sampled, (0.0,) * len(sampled), stopped=True))
        observations.append(episode.observation)
    found = on_tokens.trajectory()
    assert found.record.turns[-1].reward == found.turns[-1].reward
    assert all(turn.format_is_valid for turn in found.record.turns)
    whole = chat.prompt(conversation(observations[:-1], answers[:-1], "think"))
    before_last = [*found.ids[: -len(found.turns[-1].sampled.ids)]]
    assert before_last == chat.tokenizer(whole, add_special_tokens=False)["input_ids"]
    said = [
        chat.tokenizer.decode(turn.sampled.ids, skip_special_tokens=True) for turn in found.turns
    ]
    assert said == answers
