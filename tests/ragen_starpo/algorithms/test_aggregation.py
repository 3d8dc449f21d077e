"""Which rows each step learns from."""

import math

from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.algorithms.aggregation import mini_batches

sizes = st.integers(1, 300)


@given(sizes, st.integers(1, 80), st.integers(1, 3), st.integers(0, 9))
def test_each_pass_has_all_rows_in_steps_of_nearly_one_size(count, largest, updates, seed):
    batches = mini_batches(count, 3, size=largest, passes=updates, seed=seed)
    steps = [rows.tolist() for rows in batches]
    each = math.ceil(count / largest)
    assert len(steps) == updates * each
    for update in range(updates):
        of_pass = steps[update * each : (update + 1) * each]
        assert sorted(row for step in of_pass for row in step) == list(range(count))
        lengths = {len(step) for step in of_pass}
        assert max(lengths) <= largest
        assert max(lengths) - min(lengths) <= 1


def test_no_step_is_of_one_row_alone():
    batches = mini_batches(129, 0, size=128, passes=1, seed=0)
    assert [len(rows) for rows in batches] == [65, 64]


def test_orders_differ_by_seed_iteration_and_pass():
    def order(seed, iteration):
        batches = mini_batches(50, iteration, size=50, passes=2, seed=seed)
        return [tuple(rows.tolist()) for rows in batches]

    assert order(0, 1) == order(0, 1)
    assert len({*order(0, 0), *order(0, 1), *order(1, 0)}) == 6
