import shutil
from importlib.resources import files

import pytest

from ragen_envs.games.twenty_questions.knowledge.loader import load, read

FOLDER = files("ragen_envs.games.twenty_questions") / "knowledge"


def test_there_are_enough_words_in_balance():
    sizes = [len(names) for names in load().categories.values()]
    assert (sum(sizes), len(sizes)) == (len(load().concepts), 23)
    assert sum(sizes) >= 400
    assert (min(sizes) >= 16, max(sizes) <= 24) == (True, True)


def test_a_kind_overrides_its_parents_and_a_concept_its_kinds():
    concepts = load().concepts
    assert concepts["robin"].grades["can_fly"] == "yes"
    assert "can_fly" not in concepts["penguin"].grades
    assert concepts["bee"].grades["has_legs"] == "yes"
    assert concepts["rose"].grades["is_green"] == "sometimes"
    assert concepts["fern"].grades["is_green"] == "yes"
    assert concepts["doctor"].memberships["animal"] == "sometimes"
    assert concepts["book"].grades["is_purple"] == "sometimes"


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        ("concepts/birds.toml", 'kind = "bird_of_prey"', 'kind = "dragon"', "no kind 'dragon'"),
        ("concepts/birds.toml", "is_brown", "is_magic", "no feature 'is_magic'"),
        ("concepts/birds.toml", "size = 5\n", "", "eagle: size is missing"),
        ("concepts/birds.toml", "size = 5\n", "size = 5\nage = 3\n", "no field 'age'"),
        ("concepts/birds.toml", "[owl]", "[dog]", "dog: a concept of birds and domestic_animals"),
        ("concepts/birds.toml", "is_brown", "is_brown is_brown", "named twice"),
        ("concepts/birds.toml", "is_brown", "@noise", "no group 'noise'"),
        ("concepts/birds.toml", "[eagle]", "[eagle", "birds.toml: "),
        ("kinds.toml", 'parents = "living_thing"', 'parents = "mammal"', "no kind above it called"),
        ("rules.toml", 'can_swim = "can_move"', 'can_swim = "can_hum"', "no feature 'can_hum'"),
    ],
)
def test_mistakes_are_named(tmp_path, path, old, new, message):
    folder = tmp_path / "knowledge"
    shutil.copytree(str(FOLDER), folder)
    text = (folder / path).read_text("utf-8")
    assert old in text
    (folder / path).write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ValueError, match=message):
        read(folder)
