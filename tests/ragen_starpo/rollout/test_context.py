"""Where a context ends an episode, to the token."""

import pytest

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.suites import make_env
from ragen_envs.core.policies import oracle_answer
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.trajectory import Sampled, batch_of

LIMIT = 40
ENV = "ragen/Sokoban-v0"


def begun(chat, chatml, context):
    tokens, end = chatml
    ending = Ending(tokens.tokenizer, frozenset([end]), Sampling(1.0, LIMIT, "</answer>", 0))
    env = make_env(ENV, "train", "answer")
    episode = Episode(Task(ENV, "train", 3, 0), 0, env, "answer")
    return env, TokenEpisode(episode, 4, chat, ending, context, lambda turn: turn.reward)


def answered(chatml, env, on_tokens):
    ids = tuple(chatml[0].tokenizer(oracle_answer(env), add_special_tokens=False)["input_ids"])
    on_tokens.take(Sampled(ids, tuple(-1.0 - n for n in range(len(ids))), stopped=True))
    return ids


@pytest.mark.parametrize("turns", [0, 1])
def test_an_answer_may_fill_the_context_and_no_more(chat, chatml, turns):
    """After the prompt, and after an observation."""
    env, on_tokens = begun(chat, chatml, 1 << 20)
    for _ in range(turns):
        answered(chatml, env, on_tokens)
    assert not on_tokens.is_over
    needed = len(on_tokens.ids) + LIMIT
    for context, over in ((needed, False), (needed - 1, True)):
        env, on_tokens = begun(chat, chatml, context)
        for _ in range(turns):
            answered(chatml, env, on_tokens)
        assert on_tokens.is_over == over
    trajectory = on_tokens.trajectory()
    assert len(trajectory.turns) == turns


def test_the_tensors_speak_of_the_tokens_where_they_stand(chat, chatml):
    env, on_tokens = begun(chat, chatml, 1 << 20)
    prompt = len(on_tokens.ids)
    first = answered(chatml, env, on_tokens)
    between = len(on_tokens.observed)
    second = answered(chatml, env, on_tokens)
    batch = batch_of([on_tokens.trajectory()], 0)
    mask = [0] * prompt + [1] * len(first) + [0] * between + [1] * len(second)
    assert batch.mask[0].tolist()[: len(mask)] == mask
    sampled = batch.ids[0][: len(mask)][batch.mask[0][: len(mask)].bool()].tolist()
    assert sampled == [*first, *second]
    log_probs = batch.log_probs[0].tolist()[: len(mask)]
    own = [-1.0 - n for of_turn in (first, second) for n in range(len(of_turn))]
    assert [value for value, kind in zip(log_probs, mask, strict=True) if kind] == own
    assert not any(value for value, kind in zip(log_probs, mask, strict=True) if not kind)
    wanted = [0] * (prompt + len(first)) + [1] * (between + len(second))
    assert batch.turns[0].tolist()[: len(mask)] == wanted
