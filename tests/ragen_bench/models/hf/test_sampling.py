"""The choice of tokens."""

from collections import Counter

import pytest
import torch
from transformers import AutoTokenizer

from ragen_bench.models import Request, Sampling
from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.chat import Chat
from ragen_bench.models.hf.loading import LoadedModel
from ragen_bench.models.hf.sampling import (
    Ending,
    Generation,
    TokenSampler,
    make_stream,
    sample_tokens,
)
from ragen_bench.suites import make_env


def streams(count, seed=0):
    env = make_env("ragen/Bandit-v0", "val", "think")
    sampling = Sampling(1.0, 1, "</answer>", seed)
    return [make_stream(Request([], str(i), env), sampling) for i in range(count)]


def uniforms(drawn):
    return torch.tensor([stream.word() / 2**64 for stream in drawn], dtype=torch.float64)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_as_frequent_as_they_are_likely(temperature):
    n = 20_000
    odds = torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0])
    drawn = sample_tokens(odds.log().expand(n, -1), uniforms(streams(n)), temperature)
    expected = odds ** (1 / temperature)
    expected = (expected / expected.sum()).tolist()
    found = Counter(drawn.tolist())
    # Pearson's statistic with 3 degrees of freedom exceeds 16.3 once in a thousand.
    assert sum((found[i] - n * p) ** 2 / (n * p) for i, p in enumerate(expected[:4])) < 16.3
    assert found[4] == 0


def test_each_row_is_sampled_independently():
    logits = torch.randn(7, 50, generator=torch.Generator().manual_seed(0))
    drawn = uniforms(streams(7))
    together = sample_tokens(logits, drawn, 1.0).tolist()
    alone = [int(sample_tokens(logits[i : i + 1], drawn[i : i + 1], 1.0)) for i in range(7)]
    assert together == alone
    assert sample_tokens(logits, uniforms(streams(7, seed=1)), 1.0).tolist() != together


def test_numbers_that_are_drawn_at_once_are_those_drawn_one_by_one():
    one, (other,) = Generation([1], streams(1)[0]), streams(1)
    words = [other.word() / 2**64 for _ in range(500)]
    for count in (1, 8, 8, 200, 1, 90):
        start = len(one.ids)
        assert one.uniforms(count) == words[start : start + count]
        one.ids += [0] * count
        one.ids = one.ids[: start + count - count // 3]  # an end, or a block that was cut


def test_at_temperature_0_no_number_is_drawn():
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 3.0]])
    two = [Generation([1], stream) for stream in streams(2)]
    sampler = TokenSampler(0, log_probs=False)
    (chosen,) = sampler.choose(logits, sampler.draw(two, 3, 2, logits.device)[0])
    assert chosen.tolist() == [1, 0]
    assert [one.stream.word() for one in two] == [stream.word() for stream in streams(2)]


def test_rows_without_a_generation_draw_zeros():
    one = Generation([1], streams(1)[0])
    drawn = TokenSampler(1.0, log_probs=False).draw([one], 2, 3, torch.device("cpu"))
    assert drawn.tolist() == [[number, 0.0, 0.0] for number in one.uniforms(2)]


@pytest.mark.parametrize(("word", "chosen"), [(0, 1), (2**64 - 1, 3)])
def test_the_smallest_and_the_largest_number_choose_possible_tokens(word, chosen):
    logits = torch.tensor([[float("-inf"), 0.0, 0.0, 0.0]])
    drawn = torch.tensor([word / 2**64], dtype=torch.float64)
    assert sample_tokens(logits, drawn, 1.0).tolist() == [chosen]


def test_without_a_stop_text_an_answer_ends_by_its_tokens():
    tokenizer = AutoTokenizer.from_pretrained(converted_folder())
    loaded = LoadedModel(Chat(tokenizer, False), None, frozenset({2}), 0, "")
    text = "as <answer>Up</answer> so"
    ids = tokenizer(text)["input_ids"]
    free, stopped = (
        Ending(loaded.tokenizer, loaded.ends, Sampling(0, 99, stop, 0))
        for stop in ("", "</answer>")
    )
    assert not any(free.is_finished(ids[:n]) for n in range(1, len(ids) + 1))
    assert free.is_finished([*ids, 2])
    assert (free.make_completion(5, [*ids, 2]).text, free.make_completion(5, ids).finish) == (
        text,
        "length",
    )
    end = next(n for n in range(1, len(ids) + 1) if stopped.is_finished(ids[:n]))
    assert stopped.make_completion(5, ids[:end]).text == "as <answer>Up</answer>"
    assert end < len(ids)


class CountedTokenizer:
    """Reads each token as a letter, and counts how often it is asked to."""

    def __init__(self):
        self.decoded = 0

    def decode(self, ids):
        self.decoded += 1
        return "".join(chr(ord("a") + i) for i in ids)


@pytest.mark.parametrize(("stop", "decoded"), [("", 0), ("cd", 3)])
def test_checked_tails_are_not_decoded_again(stop, decoded):
    tokenizer = CountedTokenizer()
    ending = Ending(tokenizer, frozenset([25]), Sampling(1.0, 99, stop, 0))
    for _ in range(5):
        stopped = [ending.is_stopped(ids) for ids in ([1], [1, 2], [1, 2, 3], [1, 2, 25])]
        assert stopped == [False, False, stop == "cd", True]
    assert tokenizer.decoded == decoded


@pytest.mark.parametrize("known", [0, 3, 10])
@pytest.mark.parametrize("size", [1, 2, 8, 40])
@pytest.mark.parametrize("limit", [12, 99])
def test_an_end_is_found_where_token_by_token_it_would_be(known, size, limit):
    ending = Ending(CountedTokenizer(), frozenset([25]), Sampling(1.0, limit, "cd", 0))
    letters = [0] * known
    for after in ([0] * 40, [0] * 5 + [2, 3] + [0] * 40, [2, 3, 25], [0, 25, 2, 3], [25] * 40):
        sampled = [*letters, *after][: known + size]
        ends = range(known + 1, len(sampled) + 1)
        wanted = next((end for end in ends if ending.is_finished(sampled[:end])), None)
        assert ending.find_end(sampled, known) == wanted
