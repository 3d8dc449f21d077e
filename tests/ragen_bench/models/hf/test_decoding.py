"""Common beginnings, and which row each prompt takes."""

from itertools import product, takewhile
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import LoadedModel, enable_rows
from ragen_bench.models.hf.row_tokens import RowTokens, assign_rows, select_ready
from ragen_envs.core.instances import RandomStream

PROMPT = st.builds(
    lambda same, rest: [1] * same + rest,
    st.integers(0, 300),
    st.lists(st.integers(1, 2), min_size=1, max_size=3),
)
PROMPTS = st.lists(PROMPT, max_size=6)
ROWS = st.lists(st.just([]) | PROMPT, min_size=1, max_size=6)


def held_by(rows, reuse=True):
    held = RowTokens(len(rows), reuse)
    for row, ids in enumerate(rows):
        held.replace_row(row, [2] * 400)
        held.replace_row(row, ids[:1])
        held.append(row, ids[1:])
    return held


def shared(first, second):
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return len(list(pairs))


def assigned(prompts, rows):
    return assign_rows(prompts, list(range(len(rows))), held_by(rows))


@given(PROMPT, ROWS)
def test_what_rows_have_in_common_with_a_prompt_is_counted_token_by_token(prompt, rows):
    held = held_by(rows)
    assert held.count_common(prompt).tolist() == [shared(prompt, ids) for ids in rows]
    assert held.lengths == [len(ids) for ids in rows]
    assert held_by(rows, reuse=False).count_common(prompt).tolist() == [0] * len(rows)


@given(PROMPT, ROWS, st.data())
def test_a_copied_row_holds_what_the_other_one_does(prompt, rows, data):
    source, target = (data.draw(st.integers(0, len(rows) - 1)) for _ in range(2))
    held = held_by(rows)
    held.copy(source, target)
    rows[target] = list(rows[source])
    assert held.lengths == [len(ids) for ids in rows]
    assert held.count_common(prompt).tolist() == [shared(prompt, ids) for ids in rows]


CHANGE = st.sampled_from(["append", "replace", "copy", "exchange", "grow"])
CHANGES = st.lists(st.tuples(CHANGE, PROMPT), max_size=5)


@given(st.lists(PROMPT, min_size=1, max_size=2), ROWS, CHANGES, st.data())
def test_prompts_that_were_compared_before_see_what_has_changed(prompts, rows, changes, data):
    held, rows = held_by(rows), [list(ids) for ids in rows]
    for kind, ids in changes:
        for prompt in prompts:
            assert held.count_common(prompt).tolist() == [shared(prompt, one) for one in rows]
        first, second = (data.draw(st.integers(0, len(rows) - 1)) for _ in range(2))
        if kind == "append":
            held.append(first, ids)
            rows[first] = rows[first] + ids
        elif kind == "replace":
            held.replace_row(first, ids)
            rows[first] = ids
        elif kind == "copy":
            held.copy(first, second)
            rows[second] = rows[first]
        elif kind == "exchange":
            held.exchange(first, second)
            rows[first], rows[second] = rows[second], rows[first]
        else:
            rows.append([])
            held.grow(len(rows))
        if first < second:
            held.forget_prompts()
    for prompt in prompts:
        assert held.count_common(prompt).tolist() == [shared(prompt, one) for one in rows]
        assert held.lengths == [len(ids) for ids in rows]


@given(PROMPTS, ROWS, st.data())
def test_longest_common_beginnings_come_first_then_the_order(prompts, rows, data):
    """Against all pairs in that order, each of which is had if both are still there."""
    free = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1))))
    prompts = prompts[: len(free)]
    pairs = sorted(
        product(range(len(prompts)), free),
        key=lambda pair: (-shared(prompts[pair[0]], rows[pair[1]]), *pair),
    )
    wanted = {}
    for number, row in pairs:
        if number not in wanted and row not in wanted.values():
            wanted[number] = row
    assert assign_rows(prompts, free, held_by(rows)) == [wanted[n] for n in range(len(prompts))]
    assert assign_rows(prompts, free, held_by(rows, reuse=False)) == free[: len(prompts)]


@given(PROMPT, ROWS, st.data())
def test_longest_finds_the_row_that_a_comparison_with_all_finds(prompt, rows, data):
    preferred = data.draw(st.integers(0, len(rows) - 1))
    counts = [shared(prompt, ids) for ids in rows]
    best = min(range(len(rows)), key=lambda row: (-counts[row], row != preferred, row))
    assert held_by(rows).find_longest(prompt, preferred) == (max(counts), best)
    assert held_by(rows, reuse=False).find_longest(prompt, preferred) == (0, preferred)


def test_a_conversation_keeps_its_row_though_a_new_one_came_first():
    opening = list(range(50))
    rows = [[*opening, 7, 8], [*opening, 9, 9]]
    assert assigned([[*opening, 1], [*opening, 9, 9, 1]], rows) == [0, 1]
    assert assigned([[*opening, 9, 9, 1], [*opening, 1]], rows) == [1, 0]


def test_prompts_wait_for_one_that_begins_alike_if_it_saves_enough():
    opening = list(range(100))
    prompts = [[*opening, 1], [*opening, 2], [5] * 40]
    assert select_ready(prompts, held_by([[]]), 1000) == [0, 2]
    assert select_ready(prompts, held_by([[]], reuse=False), 1000) == [0, 1, 2]
    assert select_ready(prompts, held_by([opening[:69]]), 1000) == [0, 1, 2]
    assert select_ready(prompts, held_by([opening[:68]]), 1000) == [0, 2]


def test_a_step_reads_no_more_than_its_budget_but_at_least_one_prompt():
    prompts = [[1] * 30, [2] * 30, [3] * 30]
    assert select_ready(prompts, held_by([[]]), 60) == [0, 1]
    assert select_ready(prompts, held_by([[]]), 59) == [0]
    assert select_ready(prompts, held_by([[]]), 1) == [0]
    assert select_ready(prompts, held_by([[1] * 30]), 60) == [0, 1, 2]


@pytest.fixture(scope="module")
def learned_positions():
    """A tiny model whose context has 64 tokens."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=64)
        model = GPT2LMHeadModel(config).eval()
    with torch.inference_mode():
        assert enable_rows(model, list(range(1, 41))) == ""
    return LoadedModel(SimpleNamespace(tokenizer=None), model, frozenset(), 0, "")


def test_blocks_of_steps_end_with_the_context_of_a_model_that_learned_its_positions(
    learned_positions,
):
    """Rows without a token to sample go along, behind the last position."""
    found = []
    for steps in (1, 8):
        decoder = Decoder(learned_positions, Sampling(1.0, 12, "", 0), 8, steps=steps)
        answers = [
            decoder.submit([(row + place) % 50 for place in range(52)], RandomStream("long", row))
            for row in range(3)
        ]
        while any(len(answer.ids) < 12 for answer in answers):
            decoder.collect()
        answers.append(decoder.submit([5, 6, 7, 8], RandomStream("short", 0)))
        decoder.collect()
        found.append([answer.ids for answer in answers])
    assert found[0] == found[1]


def test_a_prefix_is_copied_from_where_it_was_before_others_took_its_copy(learned_positions):
    """The third row's source is the first one, which has been copied from the second by then."""
    sampling, prefix = Sampling(1.0, 12, "", 0), list(range(30))

    def new_decoder():
        return Decoder(learned_positions, sampling, 4, log_probs=True)

    decoder = new_decoder()
    first = decoder.submit([40] * 30, RandomStream("first"))
    decoder._step()
    running = decoder.submit(prefix, RandomStream("running"))
    while len(first.ids) < 12:
        decoder._step()
    assert len(running.ids) == 11
    pair = [decoder.submit([*prefix, 41 + n], RandomStream("pair", n)) for n in range(2)]
    decoder._step()
    assert [len(one.ids) for one in pair] == [1, 1]
    for n, one in enumerate(pair):
        alone = new_decoder()
        wanted = alone.submit(one.prompt, RandomStream("pair", n))
        alone._step()
        assert one.ids == wanted.ids
        assert one.log_probs == pytest.approx(wanted.log_probs, abs=1e-6)
