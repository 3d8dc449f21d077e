from pathlib import Path

import pytest

from ragen_envs.games.twenty_questions.knowledge.loader import (
    groups_of,
    load,
    read_facts,
    resolve_parts,
)

KNOWLEDGE = load()
KNOWN = frozenset({*KNOWLEDGE.kinds, *KNOWLEDGE.features})
GROUPS = groups_of(KNOWLEDGE.concepts, KNOWN)


def written(folder: Path, *lines: str):
    entry = ["[has_gills]", 'ask = "Does it have gills?"', 'have = ["gills"]', *lines]
    (folder / "facts.toml").write_text("\n".join(entry), "utf-8")
    return read_facts(folder, GROUPS, KNOWN)


def test_a_word_counts_before_its_kinds_and_these_before_all(tmp_path):
    fact = written(
        tmp_path,
        'yes = "fish -eel"',
        'sometimes = "frog&can_jump shark"',
        'unknown = "insect"',
        'no = "* -polar_bear"',
    )["has_gills"]
    words = ("tuna", "shark", "frog", "eel", "bee", "polar bear", "dog", "hammer")
    grades = ["yes", "sometimes", "sometimes", "no", None, None, "no", "no"]
    assert [fact.grades.get(word) for word in words] == grades
    assert fact.said == {"have": ("gills",)}


def test_a_word_that_is_named_is_not_left_out_with_its_kind():
    words = resolve_parts("is_long", ["animal", "worm", "-insect", "bee", "-eel"], GROUPS)
    assert {"worm", "bee", "dog"} <= words
    assert not {"wasp", "eel"} & words


def test_what_is_not_known_comes_before_no_for_all(tmp_path):
    fact = written(tmp_path, 'no = "mammal"', 'unknown = "*"')["has_gills"]
    assert fact.grades["dog"] == "no"
    assert "tuna" not in fact.grades


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('yes = "fish unicorn"', "no word, kind or feature 'unicorn'"),
        ('yes = "dog"\nno = "dog"', "dog is both yes and no"),
        ("yes = fish", "facts.toml"),
    ],
)
def test_mistakes_are_named(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        written(tmp_path, line)


def test_a_fact_needs_a_question_and_a_name_of_its_own(tmp_path):
    (tmp_path / "facts.toml").write_text('[has_gills]\nyes = "fish"', "utf-8")
    with pytest.raises(ValueError, match="ask is missing"):
        read_facts(tmp_path, GROUPS, KNOWN)
    (tmp_path / "facts.toml").write_text('[has_tail]\nask = "Does it?"', "utf-8")
    with pytest.raises(ValueError, match="has_tail"):
        read_facts(tmp_path, GROUPS, KNOWN)
