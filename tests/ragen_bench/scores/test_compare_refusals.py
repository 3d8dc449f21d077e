"""Which runs are not compared, and what is said of them."""

import json

import pytest

from ragen_bench.errors import UserError
from ragen_bench.scores.compare import compare_with_first, find_obstacles
from tests.ragen_bench.scores.pairs import compare

from .compared import LAKE, SOKOBAN, cut

pytestmark = pytest.mark.xdist_group("compare")  # its runs are made once


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"split": "val"}, "split: test in A, val in B"),
        ({"response_format": "plain"}, "response_format: think in A, plain in B"),
        ({"constrained": True}, "constrained: false in A, true in B"),
        (
            {"split": "val", "response_format": "plain"},
            "split: test in A, val in B; response_format: think in A, plain in B",
        ),
        (
            {"envs": [{"id": SOKOBAN, "instances": 8, "spec_hash": "f" * 16}]},
            f"{SOKOBAN} has different specifications: ",
        ),
        (
            {"envs": [{"id": "ragen/BanditRev-v0", "instances": 8, "spec_hash": "f" * 16}]},
            "no environment is in both",
        ),
    ],
)
def test_what_must_not_stand_side_by_side_is_refused(random_run, changed, changes, says):
    other = changed(**changes)
    with pytest.raises(UserError, match="cannot be compared") as raised:
        compare(random_run, other)
    message = str(raised.value)
    assert message.startswith(f"{random_run.path} (A) and {other.path} (B) cannot be compared: ")
    assert says in message
    assert "\n" not in message
    assert raised.value.exit_code == 2


def test_a_refusal_names_both_specifications(random_run, changed):
    envs = [env.as_json() for env in random_run.config.envs]
    envs[2]["spec_hash"] = "0123456789abcdef"
    found = find_obstacles(random_run.config, changed(envs=envs).config)
    ours = random_run.config.envs[2].spec_hash
    assert found == [f"{LAKE} has different specifications: {ours} in A, 0123456789abcdef in B"]


def test_sealed_runs_of_two_keys_are_refused(changed):
    a = changed("a", split="sealed", sealed_key_hash="1" * 64)
    b = changed("b", split="sealed", sealed_key_hash="2" * 64)
    with pytest.raises(UserError, match=f"sealed_key_hash: {'1' * 64} in A, {'2' * 64} in B"):
        compare(a, b)


def test_runs_without_a_common_instance_are_refused(random_run, changed):
    other = changed()
    cut(other, 0)
    with pytest.raises(UserError, match="no instance is finished in both") as raised:
        compare(random_run, other)
    assert raised.value.exit_code == 1


@pytest.mark.parametrize("score", [-0.5, 1.5])
def test_a_score_off_the_scale_is_refused(random_run, changed, score):
    other = changed()
    lines = other.episodes_file.read_text().splitlines()
    lines[25] = json.dumps({**json.loads(lines[25]), "score": score})
    other.episodes_file.write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=r"line 26 has score \S+, which is (below|above)") as raised:
        compare(random_run, other)
    assert raised.value.exit_code == 1


@pytest.mark.parametrize("count", [1, 27])
def test_one_run_and_too_many_are_refused(random_run, count):
    with pytest.raises(UserError, match=f"2 to 26 runs can be compared, got {count}"):
        compare_with_first([random_run] * count)
