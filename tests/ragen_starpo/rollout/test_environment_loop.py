"""Episodes on the tokens of three families: the ids are those of the whole conversation."""

import pytest

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.models.base import Sampling
from ragen_bench.models.chat import Chat
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import make_env
from ragen_envs.core.policies import oracle_answer
from ragen_starpo.rollout.environment_loop import ChatTokens, TokenEpisode
from ragen_starpo.rollout.trajectory import Sampled
from tests.ragen_starpo.chats import FAMILIES, TEMPLATES, made, tokenizer_of
from tests.ragen_starpo.sequences import whole

pytestmark = pytest.mark.xdist_group("chats")  # which take seconds to make


@pytest.mark.parametrize("ends_itself", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
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
    while not on_tokens.is_over:
        answers.append(oracle_answer(env_made))
        ids = chat.tokenizer(answers[-1], add_special_tokens=False)["input_ids"]
        sampled = (*ids, end) if ends_itself else tuple(ids)
        on_tokens.take(Sampled(sampled, (0.0,) * len(sampled), stopped=True))
        observations.append(episode.observation)
    found = on_tokens.trajectory()
    assert found.record.turns[-1].reward == found.turns[-1].reward
    assert all(turn.format_is_valid for turn in found.record.turns)
    assert not found.is_void
    sent = chat.render(conversation(observations[:-1], answers[:-1], "think"))
    before_last = [*whole(found).ids[: -len(found.turns[-1].sampled.ids)]]
    assert before_last == chat.tokenizer(sent, add_special_tokens=False)["input_ids"]
    said = [
        chat.tokenizer.decode(turn.sampled.ids, skip_special_tokens=True) for turn in found.turns
    ]
    assert said == answers


def played(chat, end, history, turns=5):
    """Return a trajectory of answers that do nothing, and the harness's conversations of it."""
    ending = Ending(chat.tokenizer, frozenset([end]), Sampling(1.0, 400, "</answer>", 0))
    env = make_env("ragen/Sokoban-v0", "train", "think")
    episode = Episode(Task("ragen/Sokoban-v0", "train", 3, 0), 0, env, "think", history)
    on_tokens = TokenEpisode(
        episode, 0, ChatTokens(chat), ending, 1 << 20, lambda turn: turn.reward
    )
    observations, answers, sent = [episode.observation], [], []
    while not on_tokens.is_over:
        messages = conversation(observations, answers, "think", history)
        sent.append(chat.render(messages))
        # Of tokens that a tokenizer would not choose: shown again they read otherwise.
        letters = [*f"<think>Turn {len(answers)}</think><answer>Nowhere</answer>"]
        ids = [id for letter in letters for id in encoded(chat, letter)]
        on_tokens.take(Sampled((*ids, end), (-1.0,) * (len(ids) + 1), stopped=True))
        answers.append("".join(letters))
        observations.append(episode.observation)
    assert len(answers) == turns
    assert all(turn.is_void for turn in on_tokens.trajectory().turns)
    return on_tokens.trajectory(), sent


def encoded(chat, text):
    return chat.tokenizer(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("history", [0, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_with_a_limited_history_each_turn_reads_what_the_harness_sends(family, history):
    chat, end = made(family)
    found, sent = played(chat, end, history)
    assert "Turns that are not shown" in sent[-1]
    assert len(found.sequences) == len(found.turns) == len(sent)
    for number, (sequence, turn, text) in enumerate(
        zip(found.sequences, found.turns, sent, strict=True)
    ):
        prompt = encoded(chat, text)
        assert sequence.ids == [*prompt, *turn.sampled.ids]
        assert sequence.mask == [0] * len(prompt) + [1] * len(turn.sampled.ids)
        assert set(sequence.numbers) == {number}
        assert found.record.turns[number].prompt_tokens == len(prompt)


def test_a_template_that_hides_thoughts_is_trained_with_on_a_limited_history():
    tokenizer = tokenizer_of("chatml")
    opened = "assistant\n<think>\n"
    tokenizer.chat_template = TEMPLATES["chatml"].replace("assistant\n", opened)
    found, sent = played(Chat(tokenizer, merges_system=False), made("chatml")[1], 0)
    assert sent[-1].endswith(opened)
    assert len(found.sequences) == len(sent)
