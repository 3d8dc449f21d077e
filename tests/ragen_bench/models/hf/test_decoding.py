"""Common beginnings, and which row each prompt takes."""

from itertools import product, takewhile
from types import SimpleNamespace

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


def test_blocks_of_steps_end_with_the_context_of_a_model_that_learned_its_positions():
    """Rows without a token to sample go along, behind the last position."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=64)
        model = GPT2LMHeadModel(config).eval()
    with torch.inference_mode():
        assert enable_rows(model, list(range(1, 41))) == ""
    found = []
    for steps in (1, 8):
        loaded = LoadedModel(SimpleNamespace(tokenizer=None), model, frozenset(), 0, "")
        decoder = Decoder(loaded, Sampling(1.0, 12, "", 0), 8, steps=steps)
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
