"""The continuous engine, on a small random model in double precision."""

from contextlib import closing
from dataclasses import replace
from itertools import takewhile

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.models import Sampling
from ragen_bench.models.base import ask_all
from ragen_bench.models.hf import cache as hf_cache
from ragen_bench.models.hf import decoding
from ragen_bench.models.hf.model import HFModel, SlotEngine
from ragen_envs.core.instances import RandomStream

from ..hf_models import Reference, request, save_tiny

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
OBSERVATIONS = ["You are in a cave.", "You are in a cave. It is dark.", "Wet.", "Go " * 30]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder):
    return HFModel(str(folder), slots=3)


@pytest.fixture(scope="module")
def reference(folder):
    return Reference(folder)


@pytest.fixture(autouse=True)
def short_rows(monkeypatch):
    """Rows that are lengthened often."""
    monkeypatch.setattr(hf_cache, "_COLUMN_STEP", 16)


@pytest.fixture
def passes(monkeypatch):
    """The tokens read and the logits of every forward pass."""
    seen = []

    def spy(model, step):
        logits = plain(model, step)
        seen.append((step.ids.shape[1], logits.clone()))
        return logits

    plain = decoding.compute_logits
    monkeypatch.setattr(decoding, "compute_logits", spy)
    return seen


def play(engine, conversations, in_flight):
    """Converse as the runner does: the next turn is asked as soon as the answer is there."""
    said = {name: list(texts[:1]) for name, texts in conversations.items()}
    answers = {}
    waiting = list(conversations)
    flying = 0
    with closing(engine):
        while waiting or flying:
            while waiting and flying < in_flight:
                name = waiting.pop(0)
                engine.submit(request(f"{name}/0", *said[name]))
                flying += 1
            for asked, answer in engine.collect():
                answers[asked.key] = asked, answer
                name, turn = asked.key.split("/")
                if int(turn) + 1 < len(conversations[name]):
                    said[name] += [answer.text, conversations[name][int(turn) + 1]]
                    engine.submit(request(f"{name}/{int(turn) + 1}", *said[name]))
                else:
                    flying -= 1
    return answers


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    texts=st.lists(st.lists(st.sampled_from(OBSERVATIONS), min_size=1, max_size=3), max_size=6),
    slots=st.integers(1, 4),
    excess=st.integers(0, 2),
    temperature=st.sampled_from([0, 1.5]),
    limit=st.integers(1, 9),
    reuse=st.booleans(),
)
def test_answers_are_those_of_decoding_each_alone(
    model, reference, texts, slots, excess, temperature, limit, reuse
):
    """Whatever is in flight beside them, in whatever rows, with more requests than slots too."""
    sampling = Sampling(temperature, limit, stop="a", seed=5)
    engine = SlotEngine(model._loaded, sampling, slots, reuse)
    conversations = {f"game {i}": turns for i, turns in enumerate(texts)}
    answers = play(engine, conversations, slots + excess)
    assert len(answers) == sum(map(len, texts))
    for asked, answer in answers.values():
        assert answer == reference.complete(asked, sampling)


def decode(model, prompts, sampling, slots, steps):
    """Decode prompts, two of which come later, and return the tokens and log-probabilities."""
    decoder = decoding.Decoder(model._loaded, sampling, slots, log_probs=True, steps=steps)
    streams = [RandomStream("test", number) for number in range(len(prompts))]
    first = [decoder.submit(*pair) for pair in zip(prompts[2:], streams[2:], strict=True)]
    ended = list(decoder.collect())
    later = [decoder.submit(*pair) for pair in zip(prompts[:2], streams[:2], strict=True)]
    while len(ended) < len(prompts):
        ended += decoder.collect()
    return [(one.ids, one.log_probs) for one in (*later, *first)], decoder


@pytest.mark.parametrize("steps", [2, 8, 64])
@pytest.mark.parametrize("slots", [3, 9, 16])
@pytest.mark.parametrize(("temperature", "stop"), [(1.0, "a"), (1.0, ""), (0.3, "</answer>")])
def test_steps_without_a_look_of_the_host_sample_the_same_tokens(
    model, slots, steps, temperature, stop
):
    sampling = Sampling(temperature, 21, stop, seed=0)
    texts = [OBSERVATIONS[number % 4] + str(number) for number in range(11)]
    prompts = [model._loaded.chat.tokenize(request("", text).messages) for text in texts]
    wanted, _ = decode(model, prompts, sampling, slots, 1)
    found, decoder = decode(model, prompts, sampling, slots, steps)
    assert [ids for ids, _ in found] == [ids for ids, _ in wanted]
    for (ids, log_probs), (_, expected) in zip(found, wanted, strict=True):
        assert len(log_probs) == len(ids)
        assert log_probs == pytest.approx(expected, abs=1e-5)
    assert decoder._batch._tokens.lengths != [0] * slots


def test_the_host_looks_once_a_block(model, passes, monkeypatch):
    looks = []
    plain = decoding.copy_to_host
    monkeypatch.setattr(
        decoding, "copy_to_host", lambda *given: looks.append(len(given[0])) or plain(*given)
    )
    prompts = [[3, 4, 5 + number] for number in range(4)]
    ((first, _), *_), _ = decode(model, prompts, Sampling(1.0, 21, "", 0), 8, 8)
    assert sum(looks) == len(passes)
    assert looks[0] == 8
    assert len(first) > 8


def sized(model, sampling):
    """Requests by the length of their answers."""
    requests = [request(f"key {i}", "Wet.") for i in range(16)]
    lengths = [c.completion_tokens for c in ask_all(model, requests, sampling)]
    return [one for _, one in sorted(zip(lengths, requests, strict=True), key=lambda x: x[0])]


def test_a_freed_slot_is_used_before_the_long_answers_end(model):
    sampling = Sampling(1.0, 24, stop="a", seed=0)
    *short, long = sized(model, sampling)
    with closing(SlotEngine(model._loaded, sampling, 2)) as engine:
        engine.submit(long)
        engine.submit(short[0])
        order = [asked.key for asked, _ in engine.collect()]
        engine.submit(short[1])
        order += [asked.key for asked, _ in engine.collect()]
        assert order == [short[0].key, short[1].key]
        assert [asked.key for asked, _ in engine.collect()] == [long.key]


def test_no_slot_waits_for_another_ones_answer(model, passes):
    sampling = Sampling(1.0, 24, stop="a", seed=0)
    requests = sized(model, sampling)
    passes.clear()
    total = sum(c.completion_tokens for c in ask_all(model, requests, sampling))
    # Three slots, all but full until the last two answers: one leads, at most 24 steps trail.
    assert len(passes) <= 1 + total / 3 + 24
    assert sum(len(logits) for _, logits in passes) == total


def test_what_was_read_is_not_read_again(model, passes):
    sampling = Sampling(0, 8, stop="</answer>", seed=0)
    conversation = {"game": [OBSERVATIONS[3], "Wet.", "Wet."]}
    answers = play(SlotEngine(model._loaded, sampling, 2), conversation, 1)
    prompts = [model._loaded.chat.tokenize(asked.messages) for asked, _ in answers.values()]
    sampled = [int(logits.argmax()) for _, logits in passes]
    known = []
    for start, prompt in zip((0, 8, 16), prompts, strict=True):
        pairs = takewhile(lambda pair: pair[0] == pair[1], zip(prompt, known, strict=False))
        kept = len(list(pairs))
        assert [read for read, _ in passes[start : start + 8]] == [len(prompt) - kept] + [1] * 7
        # More than the prompt before this one: the answer to it too, or its first tokens.
        assert not known or kept > len(known) - 7
        known = prompt + sampled[start : start + 7]
    passes.clear()
    play(SlotEngine(model._loaded, sampling, 2, reuse=False), conversation, 1)
    assert [read for read, _ in passes[::8]] == [len(prompt) for prompt in prompts]


def test_rows_hold_the_keys_and_values_of_the_tokens_that_they_claim(model):
    """Free rows too, moved ones and those whose slot was taken over."""
    sampling = Sampling(1.0, 24, stop="a", seed=0)
    checked, requests = 0, sized(model, sampling)[::3]
    with closing(SlotEngine(model._loaded, sampling, 3)) as engine:
        for together in (requests[:3], requests[3:]):
            for one in together:
                engine.submit(one)
            unanswered = len(together)
            while unanswered:
                unanswered -= len(engine.collect())
                checked += check_rows(model, engine)
    assert checked > 100


@torch.inference_mode()
def check_rows(model, engine):
    rows = engine._decoder._batch
    for number, length in enumerate(rows._tokens.lengths):
        ids = rows._tokens._ids[number, :length].tolist()
        if ids:
            alone = hf_cache.RowCache(1)
            network = model._loaded.model
            step = hf_cache.make_step(alone, [0], [ids], network.device, network.dtype)
            hf_cache.compute_logits(network, step)
            for layer, parts in rows._cache._layers.items():
                for held, expected in zip(parts, alone._layers[layer], strict=True):
                    found = held[number, :, :length]
                    assert torch.allclose(found, expected[0, :, :length])
    return sum(rows._tokens.lengths)


def test_conversations_that_begin_alike_read_the_beginning_once(model, passes):
    requests = [request(f"game {i}", OBSERVATIONS[3] + str(i)) for i in range(3)]
    ask_all(model, requests, Sampling(0, 2, "</answer>", 0))
    ids = [model._loaded.chat.tokenize(one.messages) for one in requests]
    assert passes[0][0] == len(ids[0])
    assert passes[1][0] <= 1 + 2 * 12
    assert len(passes) == 3


def test_the_same_calls_give_the_same_bits(model, passes):
    sampling = Sampling(1.0, 9, stop="a", seed=2)
    conversations = {f"game {i}": [OBSERVATIONS[i % 4], "Wet."] for i in range(9)}
    runs = []
    for _ in range(2):
        passes.clear()
        answers = play(model.engine(sampling), conversations, 3)
        runs.append((answers.keys(), [a for _, a in answers.values()], list(passes)))
    first, second = runs
    assert list(first[0]) == list(second[0])
    assert first[1] == second[1]
    assert len(first[2]) == len(second[2]) > 10
    for (read, logits), (read_again, logits_again) in zip(first[2], second[2], strict=True):
        assert read == read_again
        assert torch.equal(logits, logits_again)


def test_a_conversation_without_room_is_answered_so_and_harms_no_other(folder, model, reference):
    sampling = Sampling(0, 40, stop="</answer>", seed=0)
    fitting, long = request("fits", "Wet."), request("long", "Go " * 600)
    read = len(model._loaded.chat.tokenize(long.messages))
    answers = ask_all(model, [long, fitting, replace(long, key="longer")], sampling)
    assert [a.finish for a in answers] == ["context", "length", "context"]
    assert (answers[0].text, answers[0].prompt_tokens, answers[0].completion_tokens) == (
        "",
        read,
        0,
    )
    assert answers[1] == reference.complete(fitting, sampling)
    room = 512 - len(model._loaded.chat.tokenize(fitting.messages))
    assert [
        ask_all(model, [fitting], Sampling(0, limit, "</answer>", 0))[0].finish
        for limit in (room, room + 1)
    ] == ["length", "context"]


def test_a_closed_engine_has_dropped_its_requests(model):
    engine = model.engine(Sampling(0, 4, "</answer>", 0))
    for i in range(5):
        engine.submit(request(f"before {i}", "Wet."))
    engine.collect()
    engine.close()
    engine.submit(request("after", "Wet."))
    assert [asked.key for asked, _ in engine.collect()] == ["after"]


def test_constrained_responses_are_refused(model):
    with pytest.raises(UserError, match="cannot constrain responses by a grammar") as e:
        model.engine(Sampling(0, 4, "</answer>", 0, constrain=True))
    assert "\n" not in str(e.value)
