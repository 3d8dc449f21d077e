"""How many questions of each set are understood: a record, that of the held-out set too.

A change of the reader may change the figures of the held-out set. Then the new ones are written
here and into the page; which of its questions changed is not looked up.
"""

from pathlib import Path

import pytest

from benchmarks.reader_coverage import SETS, coverage, main, row

PAGE = Path(__file__).parents[5] / "docs/results/twenty-questions.md"
# Of each set: right, misread, unread, refused, answered, misanswered.
COUNTS = {
    "dev": (340, 6, 0, 43, 4, 4),
    "dev_2": (454, 14, 43, 43, 11, 9),
    "held_out": (264, 25, 82, 41, 7, 16),
}
# Kind and feature at once where dev_2.toml names the feature alone, an example that is dropped,
# what is read in part, and facts and nouns that the knowledge did not have when the set was
# written.
OTHERWISE = (
    "Is it a land vehicle, one that drives on roads or rails?",
    "Is it a sweet thing, for instance a dessert?",
    "is it scary and can it hurt me?",
    "Does it prey on other animals?",
    "Is it a venomous creature?",
    "Are there buttons on it that you can press?",
    "Is it a pest that bites or stings people?",
    "Farm animal?",
    "Is it consumed by humans as food?",
    "Would people drink it at breakfast?",
    "Is this a dish that gets cooked?",
    "Blimey. Is it a scone?",
    "Would most people call it a rocking chair?",
    "Is it pasta?",
)
ANSWERED_NOW = (
    "Are there exactly six legs on it?",
    "Does it spin webs?",
    "Does it have sails?",
    "Is it Italian?",
    "You like it, don't you?",
    "Does it carry its young in a pouch?",
    "Animal, vegetable or mineral?",
    "Does it hiss?",
    "Does it clean clothes or does it clean floors?",
    "Did it exist a hundred years ago?",
    "Is it an endangered species?",
)


# Figures are computed before they are asserted: pytest prints the parts of a failed assertion, and
# held-out questions are among them.


@pytest.mark.parametrize("name", SETS)
def test_as_many_questions_are_understood_as_recorded(name):
    counts = tuple(len(questions) for questions in vars(coverage(name)).values())
    assert counts == COUNTS[name]


@pytest.mark.parametrize("name", SETS)
def test_the_page_has_the_row_of_each_set(name):
    line = row(name, coverage(name))
    assert line in PAGE.read_text(encoding="utf-8").splitlines()


def test_what_of_the_second_dev_set_is_misread():
    found = coverage("dev_2")
    assert found.misread == OTHERWISE
    assert found.answered == ANSWERED_NOW


def test_the_held_out_questions_are_not_listed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["reader_coverage.py", "--list"])
    main()
    shown, unseen = capsys.readouterr().out.split("held_out, misread: 25\n")
    assert all(f"  {question}\n" in shown for question in coverage("dev_2").unread)
    lines = len(unseen.splitlines())
    assert lines == 6
