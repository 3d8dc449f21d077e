import hashlib

from ragen_envs.games.bandit.names import BOLD, STEADY, part_of

NAMES = STEADY + BOLD


def test_names_are_single_words_used_once():
    assert len({name.lower() for name in NAMES}) == len(NAMES)
    assert all(name.isascii() and name.isalpha() and name.istitle() for name in NAMES)
    assert len(STEADY) >= 80
    assert len(BOLD) >= 80


def test_the_names_of_the_paper_fall_as_they_do_there():
    train = {"Teacher", "Engineer", "Phoenix", "Dragon"}
    test = {"Librarian", "Trader"}
    assert {part_of(name) for name in train} == {"train"}
    assert {part_of(name) for name in test} == {"test"}
    assert {"Teacher", "Phoenix", "Librarian"} <= set(STEADY)
    assert {"Engineer", "Dragon", "Trader"} <= set(BOLD)


def test_parts_by_hand():
    for name in NAMES:
        first = hashlib.sha256(f"bandit-12204/{name}".encode()).digest()[0]
        assert part_of(name) == ("val", "test", "sealed", "train", "train")[first % 5]


def test_every_part_has_enough_pairs_for_a_held_out_set():
    for part in ("train", "val", "test", "sealed"):
        steady = sum(part_of(name) == part for name in STEADY)
        bold = sum(part_of(name) == part for name in BOLD)
        # 256 pairs of each order, with some to spare for the other variant.
        assert steady * bold >= 256, part
