"""What tells two configurations apart."""

import pytest

from ragen_bench.runs.differences import find_differences


@pytest.mark.parametrize(
    ("there", "here", "said"),
    [
        (
            {"model_identity": {"a": 1, "b": {"c": 2}}},
            {"model_identity": {"a": 1, "b": {"c": 3}}},
            ["model_identity.b.c: 2 there, 3 here"],
        ),
        (
            {"model": "hf/" + "x" * 80 + "/one"},
            {"model": "hf/" + "x" * 80 + "/two"},
            ['model: ..."xxxxxxxxxxx/one" there, ..."xxxxxxxxxxx/two" here'],
        ),
        ({"prompt_hash": "a"}, {"prompt_hash": "b"}, ['prompt_hash: "a" there, "b" here']),
        ({"new": 1}, {}, ["new: 1 there, null here"]),
        ({"slots": 2, "group_size": 8}, {"slots": 4, "group_size": 16}, ["slots: 2 there, 4 here"]),
        (
            {"slots": 2, "group_size": 8},
            {"slots": 2, "group_size": 2},
            ["group_size: 8 there, 2 here"],
        ),
        ({"command": "a", "versions": {}}, {}, []),
    ],
)
def test_differences_are_named_in_a_few_words(there, here, said):
    assert find_differences(there, here) == said
