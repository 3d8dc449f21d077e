import runpy
from dataclasses import replace

import check_knowledge
import pytest

from ragen_envs.games.twenty_questions.knowledge.loader import load

KNOWLEDGE = load()


def changed(name, **fields):
    concept = replace(KNOWLEDGE.concepts[name], **fields)
    return replace(KNOWLEDGE, concepts={**KNOWLEDGE.concepts, name: concept})


def with_grades(name, **grades):
    return changed(name, grades={**KNOWLEDGE.concepts[name].grades, **grades})


@pytest.mark.parametrize("check", check_knowledge.CHECKS)
def test_the_knowledge_that_ships_has_no_mistakes(check):
    assert list(check(KNOWLEDGE)) == []


def test_every_check_finds_its_mistake():
    dog = KNOWLEDGE.concepts["dog"]
    kind = KNOWLEDGE.kinds["animal"]
    wrong = {
        check_knowledge.questions_read_well: replace(
            KNOWLEDGE, kinds={**KNOWLEDGE.kinds, "animal": replace(kind, ask="An animal?")}
        ),
        check_knowledge.names_are_unique: changed("dog", aliases=("cat",)),
        check_knowledge.levels_fit: changed("dog", levels={"size": (9, 9), "weight": (5, 5)}),
        check_knowledge.weight_fits_size: changed("dog", levels={"size": (2, 2), "weight": (6, 6)}),
        check_knowledge.implications_hold: changed("dog", own={**dog.own, "has_legs": "no"}),
        check_knowledge.rules_name_what_is_there: replace(
            KNOWLEDGE, kinds={key: kind for key, kind in KNOWLEDGE.kinds.items() if key != "food"}
        ),
        check_knowledge.nothing_is_excluded: with_grades("dog", has_two_legs="yes"),
        check_knowledge.features_keep_to_kinds: with_grades("table", lays_eggs="sometimes"),
        check_knowledge.entries_say_something: changed("dog", own={**dog.own, "has_fur": "yes"}),
        check_knowledge.pairs_are_apart: changed(
            "dog",
            **{
                field: getattr(KNOWLEDGE.concepts["cat"], field)
                for field in ("grades", "levels", "memberships", "unknown")
            },
        ),
        check_knowledge.everything_is_used: replace(
            KNOWLEDGE, kinds={**KNOWLEDGE.kinds, "dragon": replace(kind, ask="Is it a dragon?")}
        ),
    }
    fact = KNOWLEDGE.facts["has_tusks"]
    grown = replace(fact, grades={**fact.grades, "bee": "yes"})
    wrong[check_knowledge.facts_agree] = replace(
        KNOWLEDGE, read_facts=lambda: {**KNOWLEDGE.facts, "has_tusks": grown}
    )
    empty = replace(fact, grades={})
    wrong[check_knowledge.facts_say_something] = replace(
        KNOWLEDGE, read_facts=lambda: {**KNOWLEDGE.facts, "has_tusks": empty}
    )
    assert wrong.keys() == set(check_knowledge.CHECKS)
    assert [check for check, knowledge in wrong.items() if not list(check(knowledge))] == []


def test_without_its_entry_a_concept_has_what_its_kinds_give():
    penguin = KNOWLEDGE.concepts["penguin"]
    assert penguin.own["can_fly"] == "no"
    assert check_knowledge.without(penguin, "can_fly", KNOWLEDGE) == "yes"
    for feature, grade in penguin.grades.items():
        if feature not in penguin.own:
            assert check_knowledge.without(penguin, feature, KNOWLEDGE) == grade


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_command_prints_the_mistakes_and_fails(monkeypatch, capsys):
    def called():
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(check_knowledge.__file__, run_name="__main__")
        return ended.value.code, capsys.readouterr().out

    assert called() == (0, "Nothing is wrong.\n")
    wrong = changed("dog", levels={**KNOWLEDGE.concepts["dog"].levels, "size": (12, 12)})
    monkeypatch.setattr("ragen_envs.games.twenty_questions.knowledge.loader.load", lambda: wrong)
    code, out = called()
    assert code == 1
    assert out.splitlines() == check_knowledge.problems(wrong)
