"""The process that samples, without Ray."""

import asyncio
import weakref

import pytest
import torch

from ragen_bench.models.hf.loading import load

ASKED = {"temperature": 1.0, "max_tokens": 6}


def test_it_samples_in_32_bits_whatever_the_folder_has(warm):
    from ragen_starpo.cluster.hf_engine import HFServer

    assert load(str(warm)).model.dtype == torch.bfloat16
    model = HFServer(str(warm), 1)._loaded.model
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}


class Talk:
    """Conversations with a server, and how many tokens its model has read."""

    def __init__(self, folder, largest):
        from ragen_starpo.cluster.hf_engine import HFServer

        self.read = 0
        self.server = HFServer(str(folder), largest)
        self.server._loaded.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _model, _arguments, named):
        self.read += named["input_ids"].shape[1]

    def __call__(self, prompts, turn=0, **changed):
        """Ask for an answer to each, by the conversation's name, and return what was read of it."""
        return asyncio.run(self._asked(prompts, turn, {**ASKED, **changed}))

    async def _asked(self, prompts, turn, sampling):
        before = self.read
        answers = await asyncio.gather(
            *(
                self.server.generate("", ids, sampling, ("rollout", 0, name, turn), name)
                for name, ids in prompts.items()
            )
        )
        # What is sampled is read too, but for the last token of an answer.
        decoded = sum(len(answer.token_ids) - 1 for answer in answers)
        return dict(zip(prompts, answers, strict=True)), self.read - before - decoded


def prompts_of(count):
    """Prompts of no common beginning."""
    return {f"game {n}": [4 + n, *range(40 + n, 60 + n)] for n in range(count)}


def longer(prompts, answers, further=(7, 8, 9)):
    return {name: [*ids, *answers[name].token_ids, *further] for name, ids in prompts.items()}


def test_a_turn_reads_what_is_new_of_each_conversation(small):
    talk, prompts = Talk(small, 99), prompts_of(3)
    answers, read = talk(prompts)
    assert read == 3 * 21
    prompts = longer(prompts, answers)
    # Others begin, for which there were no rows.
    joined = {**prompts, **{f"new {n}": [90 + n] * 5 for n in range(4)}}
    answers, read = talk(joined, 1)
    assert read == 3 * 4 + 4 * 5
    told, read = Talk(small, 99)(joined, 1)
    assert read == sum(map(len, joined.values()))
    for name, answer in answers.items():
        assert answer.token_ids == told[name].token_ids
        assert answer.log_probs == pytest.approx(told[name].log_probs, abs=1e-4)


@pytest.mark.parametrize("what", ["weights", "sleep", "temperature"])
def test_what_was_read_by_another_model_is_read_anew(small, what):
    talk, prompts = Talk(small, 99), prompts_of(2)
    prompts = longer(prompts, talk(prompts)[0])
    changed = {}
    if what == "weights":
        weights = talk.server._loaded.model.state_dict()
        asyncio.run(talk.server.take({name: 2 * row for name, row in weights.items()}, 1))
    elif what == "sleep":
        asyncio.run(talk.server.sleep())
    else:
        changed = {"temperature": 0.5}
    assert talk(prompts, 1, **changed)[1] == sum(map(len, prompts.values()))


def test_more_conversations_than_it_answers_at_once_are_answered(small):
    talk, prompts = Talk(small, 2), prompts_of(5)
    answers, read = talk(prompts)
    assert read == 5 * 21
    assert len(talk.server._decoder[1]._batch._rows) == 2
    again = talk(longer(prompts, answers), 1)[0]
    for name, ids in prompts.items():
        alone = Talk(small, 1)
        assert alone({name: ids})[0][name].token_ids == answers[name].token_ids
        followed = longer({name: ids}, answers)
        assert alone(followed, 1)[0][name].token_ids == again[name].token_ids


def test_moving_rows_keep_what_was_read_of_conversations_that_wait(small):
    talk, prompts = Talk(small, 99), prompts_of(3)
    prompts = longer(prompts, talk(prompts)[0])
    assert talk({"game 2": prompts["game 2"]}, 1)[1] == 4
    for name in ("game 0", "game 1"):
        assert talk({name: prompts[name]}, 1)[1] == 4


def test_memory_stays_for_new_weights_and_is_given_back_by_sleep(small, monkeypatch):
    talk, prompts = Talk(small, 99), prompts_of(2)
    talk(prompts)
    kept, cache = talk.server._decoder[1], talk.server._decoder[1]._batch._cache
    asyncio.run(talk.server.take(talk.server._loaded.model.state_dict(), 1))
    talk(prompts)
    assert talk.server._decoder[1] is kept
    alive, found = weakref.ref(cache), []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: found.append(alive()))
    del kept, cache
    asyncio.run(talk.server.sleep())
    assert found == [None]
