from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.twenty_questions.knowledge.loader import (
    imply,
    inherit,
    memberships,
    stronger,
)
from ragen_envs.games.twenty_questions.knowledge.schema import GRADES, Feature, Kind

grades = st.sampled_from(GRADES)


def kind(parents="", partly="", **given_grades):
    return Kind("", (), tuple(parents.split()), tuple(partly.split()), given_grades, {})


KINDS = {
    "thing": kind(soft="yes", red="sometimes"),
    "animal": kind(partly="thing"),
    "bird": kind("animal", flies="yes"),
    "penguin": kind("bird", flies="no"),
    "toy": kind("thing", flies="sometimes"),
}


def test_full_membership_goes_up_and_half_membership_stays_half():
    assert memberships(("bird",), (), KINDS) == {
        "thing": "sometimes",
        "animal": "yes",
        "bird": "yes",
    }
    assert memberships(("toy",), ("bird",), KINDS) == {
        "toy": "yes",
        "thing": "yes",
        "bird": "sometimes",
        "animal": "sometimes",
    }


def test_a_kind_counts_before_its_parents_and_of_two_the_stronger():
    assert inherit(("penguin",), KINDS) == {"flies": "no"}
    assert inherit(("penguin", "toy"), KINDS) == {
        "flies": "sometimes",
        "soft": "yes",
        "red": "sometimes",
    }


@given(grades, grades, grades)
def test_what_is_implied_is_at_least_as_much(one, two, three):
    features = {"a": Feature("", "", ("b",)), "b": Feature("", "", ("c",)), "c": Feature("", "")}
    found = imply({"a": one, "b": two, "c": three}, features)
    assert found.get("b", "no") == stronger(one, two)
    assert found.get("c", "no") == stronger(stronger(one, two), three)
    assert "no" not in found.values()
