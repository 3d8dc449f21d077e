import runpy
from dataclasses import replace

import pytest

from ragen_envs.games.twenty_questions.knowledge import validator
from ragen_envs.games.twenty_questions.knowledge.loader import load

KNOWLEDGE = load()


def changed(name, **fields):
    concept = replace(KNOWLEDGE.concepts[name], **fields)
    return replace(KNOWLEDGE, concepts={**KNOWLEDGE.concepts, name: concept})


def with_grades(name, **grades):
    return changed(name, grades={**KNOWLEDGE.concepts[name].grades, **grades})


@pytest.mark.parametrize("check", validator.CHECKS)
def test_the_knowledge_that_ships_has_no_mistakes(check):
    assert list(check(KNOWLEDGE)) == []


def test_every_check_finds_its_mistake():
    dog = KNOWLEDGE.concepts["dog"]
    kind = KNOWLEDGE.kinds["animal"]
    wrong = {
        validator.questions_read_well: replace(
            KNOWLEDGE, kinds={**KNOWLEDGE.kinds, "animal": replace(kind, ask="An animal?")}
        ),
        validator.names_are_unique: changed("dog", aliases=("cat",)),
        validator.levels_fit: changed("dog", levels={"size": (9, 9), "weight": (5, 5)}),
        validator.weight_fits_size: changed("dog", levels={"size": (2, 2), "weight": (6, 6)}),
        validator.implications_hold: changed("dog", own={**dog.own, "has_legs": "no"}),
        validator.nothing_is_excluded: with_grades("dog", has_two_legs="yes"),
        validator.features_keep_to_kinds: with_grades("table", lays_eggs="sometimes"),
        validator.entries_say_something: changed("dog", own={**dog.own, "has_fur": "yes"}),
        validator.pairs_are_apart: changed(
            "dog",
            **{
                field: getattr(KNOWLEDGE.concepts["cat"], field)
                for field in ("grades", "levels", "memberships", "unknown")
            },
        ),
        validator.everything_is_used: replace(
            KNOWLEDGE, kinds={**KNOWLEDGE.kinds, "dragon": replace(kind, ask="Is it a dragon?")}
        ),
    }
    fact = KNOWLEDGE.facts["has_tusks"]
    grown = replace(fact, grades={**fact.grades, "bee": "yes"})
    wrong[validator.facts_agree] = replace(
        KNOWLEDGE, read_facts=lambda: {**KNOWLEDGE.facts, "has_tusks": grown}
    )
    empty = replace(fact, grades={})
    wrong[validator.facts_say_something] = replace(
        KNOWLEDGE, read_facts=lambda: {**KNOWLEDGE.facts, "has_tusks": empty}
    )
    assert wrong.keys() == set(validator.CHECKS)
    assert [check for check, knowledge in wrong.items() if not list(check(knowledge))] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_command_prints_the_mistakes_and_fails(monkeypatch, capsys):
    def called():
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(
                "ragen_envs.games.twenty_questions.knowledge.validator", run_name="__main__"
            )
        return ended.value.code, capsys.readouterr().out

    assert called() == (0, "Nothing is wrong.\n")
    wrong = changed("dog", levels={**KNOWLEDGE.concepts["dog"].levels, "size": (12, 12)})
    monkeypatch.setattr("ragen_envs.games.twenty_questions.knowledge.loader.load", lambda: wrong)
    code, out = called()
    assert code == 1
    assert out.splitlines() == validator.problems(wrong)
