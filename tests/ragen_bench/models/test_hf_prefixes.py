"""Common beginnings, and which row each prompt takes."""

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.models.hf_prefixes import assign, longest, nothing, ready, shared

PROMPTS = st.lists(
    st.builds(
        lambda same, rest: [1] * same + rest,
        st.integers(0, 200),
        st.lists(st.integers(1, 2), max_size=3),
    ),
    max_size=6,
)


@given(PROMPTS.filter(lambda prompts: len(prompts) >= 2))
def test_shared_counts_the_common_beginning(prompts):
    first, second = prompts[:2]
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    assert shared(first, second) == len(list(pairs))


@given(PROMPTS, PROMPTS)
def test_each_prompt_gets_a_free_row_of_its_own(prompts, held):
    free = dict(enumerate(held, start=10))
    prompts = prompts[: len(free)]
    rows = assign(prompts, free, shared)
    assert len(set(rows)) == len(rows) == len(prompts)
    assert set(rows) <= free.keys()
    # The longest common beginning of all is never given away.
    pairs = [shared(p, ids) for p in prompts for ids in free.values()]
    if pairs:
        assert max(pairs) in [shared(p, free[r]) for p, r in zip(prompts, rows, strict=True)]


@given(PROMPTS.filter(len), PROMPTS.filter(len), st.data())
def test_longest_finds_the_row_that_a_comparison_with_all_finds(prompts, held, data):
    prompt = prompts[0]
    favourite = data.draw(st.integers(0, len(held) - 1))
    for common in (shared, nothing):
        counts = [common(prompt, ids) for ids in held]
        rows = sorted(range(len(held)), key=lambda row: (-counts[row], row != favourite, row))
        assert longest(prompt, held, common, favourite) == (max(counts), rows[0])


def test_a_conversation_keeps_its_row_though_a_new_one_came_first():
    opening = list(range(50))
    held = {4: [*opening, 7, 8], 6: [*opening, 9, 9]}
    assert assign([[*opening, 1], [*opening, 9, 9, 1]], held, shared) == [4, 6]
    assert assign([[*opening, 1], [*opening, 9, 9, 1]], held, nothing) == [4, 6]
    assert assign([[*opening, 9, 9, 1], [*opening, 1]], held, shared) == [6, 4]
    assert assign([[*opening, 9, 9, 1], [*opening, 1]], held, nothing) == [4, 6]


def test_prompts_wait_for_one_that_begins_alike_if_it_saves_enough():
    opening = list(range(100))
    prompts = [[*opening, 1], [*opening, 2], [5] * 40]
    assert ready(prompts, [], shared, 1000) == [0, 2]
    assert ready(prompts, [], nothing, 1000) == [0, 1, 2]
    assert ready(prompts, [opening[:69]], shared, 1000) == [0, 1, 2]
    assert ready(prompts, [opening[:68]], shared, 1000) == [0, 2]


def test_a_step_reads_no_more_than_its_budget_but_at_least_one_prompt():
    prompts = [[1] * 30, [2] * 30, [3] * 30]
    assert ready(prompts, [], shared, 60) == [0, 1]
    assert ready(prompts, [], shared, 59) == [0]
    assert ready(prompts, [], shared, 1) == [0]
    assert ready(prompts, [[1] * 30], shared, 60) == [0, 1, 2]
    assert ready([], [], shared, 1) == []
