from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.webshop.reward import Reward, check_goal, reward_of

from .shops import goal, product
from .test_reward_likeness import by_hand

TARGET = product(
    "Oak Desk",
    nouns=("oak", "desk"),
    breadcrumbs=("Home", "Furniture", "Desks"),
    query="desks",
    attributes=("solid wood", "easy clean"),
    options=(("color", ("navy blue", "standard")), ("size", ("small", "x-large"))),
)
OTHER = replace(TARGET, query="tables", breadcrumbs=(), nouns=("lamp",), title="Lamp")


def rated(asked=None, bought=TARGET, chosen=None, price=10.0, compat=False, target=TARGET):
    return reward_of(bought, chosen or {}, price, asked or goal(), target, compat)


@pytest.mark.parametrize("compat", [False, True])
def test_a_purchase_by_hand(compat):
    """3 of 5 pieces: one attribute of two, one option of two, the price."""
    asked = goal(
        attributes=("easy clean", "assembled"),
        options=(("color", "oak"), ("size", "small")),
        price_cap=10.0,
    )
    found = rated(asked, chosen={"color": "pine", "size": "small"}, compat=compat)
    assert found == Reward(
        total=3 / 5, r_type=1.0, r_att=0.5, r_option=0.5, r_price=1.0, title_score=1.0
    )
    dear = rated(asked, chosen={"color": "pine", "size": "small"}, price=10.01, compat=compat)
    assert (dear.total, dear.r_price) == (2 / 5, 0.0)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(
    ("wanted", "has", "query", "crumbs", "score", "r_type"),
    [
        ("a b c d e", "a", "other", (), 0.2, 0.5),  # not above 0.2
        ("a b c d e", "a", "desks", (), 0.2, 1.0),
        ("a b c d e", "a", "other", ("Home",), 0.2, 0.5),
        ("a b c d e", "a", "other", ("Desks", "Home"), 0.2, 1.0),
        ("a b c d", "a", "other", (), 0.25, 1.0),
        ("a b c d e f g h i j", "a", "other", (), 0.1, 0.5),  # not below 0.1
        ("a b c d e f g h i j k", "a", "desks", (), 1 / 11, 0.1),
        ("a b", "c", "desks", ("Home", "Desks"), 0.0, 0.0),
        ("", "c", "other", (), 0.2, 0.5),
        ("", "c", "desks", (), 0.2, 1.0),
        ("a b", "", "desks", (), 0.0, 0.0),
    ],
)
def test_types(wanted, has, query, crumbs, score, r_type, compat):
    target = replace(TARGET, nouns=tuple(wanted.split()))
    bought = replace(TARGET, nouns=tuple(has.split()), query=query, breadcrumbs=crumbs)
    found = rated(bought=bought, target=target, compat=compat)
    assert (found.title_score, found.r_type) == (score, r_type)
    assert found.total == r_type


@pytest.mark.parametrize("compat", [False, True])
def test_attributes_may_stand_in_the_texts(compat):
    for field in ({"title": "A Wireless one"}, {"description": "it is WIRELESS"}):
        assert rated(goal(attributes=("wireless",)), product(**field), compat=compat).r_att == 1
    bullets = product(bullets=("it has", "No Cable", "at all"))
    for asked, share in (("no cable", 1), ("has no cable", 1), ("cable all", 0)):
        assert rated(goal(attributes=(asked,)), bullets, compat=compat).r_att == share
    apart = product("no", description="cable")
    assert rated(goal(attributes=("no cable",)), apart, compat=compat).r_att == 0


EXACT = [  # goal's value, chosen value: the default, the original
    ("size", "large", "large", True, True),
    ("size", "x-large", "large", False, True),  # "large" is among "size x large"
    ("size", "large", "x-large", False, False),  # "large" 5 of 13, "large size" of "large x" less
    ("size", "7.5", "7", False, True),
    ("size", "pack of 4", "pack of 3", False, True),  # 16 / 18
    ("color", "blue", "navy blue", False, True),  # the chosen one becomes "blue"
    ("color", "navy blue", "navy blue", True, True),  # "blue" is among "color navy blue"
    ("color", "navy blue", "light blue", False, True),
    ("size", "standard", "standard", True, False),  # the chosen one becomes "tan"
    ("style", "fashion black", "fashion black", True, False),  # becomes "ash"
    ("color", "Black/White ", "black | white", True, True),
    ("color", "red", "green", False, False),
]


@pytest.mark.parametrize(("name", "wanted", "taken", "default", "original"), EXACT)
def test_options_of_the_default_and_of_the_original(name, wanted, taken, default, original):
    asked = goal(options=((name, wanted),))
    assert rated(asked, chosen={name: taken}).r_option == default
    assert rated(asked, chosen={name: taken}, compat=True).r_option == original


def test_the_default_looks_at_the_option_that_is_asked_for():
    asked = goal(options=(("color", "small"),))
    assert rated(asked, chosen={"size": "small"}).r_option == 0
    assert rated(asked, chosen={"size": "small"}, compat=True).r_option == 1
    assert rated(asked).r_option == rated(asked, compat=True).r_option == 0


VALUES = [  # the same in a goal of a person's
    ("x-large", "large", True),  # "large" is among "x large"
    ("pack of 4", "pack of 3", True),  # 16 / 18
    ("7.5", "7", True),
    ("standard", "standard", True),  # both become "tan"
    ("fashion black", "fashion black", True),
    ("dash", "dash", True),  # both become "ash"
    ("navy blue", "royal blue", True),
    ("navy", "dark blue", False),
    ("small", "large", False),
    ("", "small", False),
]


@pytest.mark.parametrize(("wanted", "taken", "original"), VALUES)
def test_values_of_people_s_goals_are_compared_without_names(wanted, taken, original):
    asked = goal(options=(("size", wanted),), by_value=True)
    assert rated(asked, chosen={"size": taken}, compat=True).r_option == original
    assert rated(asked, chosen={"size": taken}).r_option == (wanted == taken)


@pytest.mark.parametrize(
    ("lacking", "chosen", "r_option", "total"),
    [
        (("huge",), {"size": "small"}, 0.5, 3 / 4),
        (("",), {"size": "small"}, 0.5, 3 / 4),
        (("huge", ""), {}, 0.0, 2 / 5),
        (("navy",), {"size": "small", "color": "navy blue"}, 0.5, 3 / 4),
        (("blue sky",), {"size": "small", "color": "navy blue"}, 1.0, 1.0),
    ],
)
def test_values_that_no_product_offers_count_in_the_originals_reward(
    lacking, chosen, r_option, total
):
    asked = goal(options=(("size", "small"),), by_value=True, lacking=lacking)
    found = rated(asked, chosen=chosen, compat=True)
    assert (found.r_option, found.total) == (r_option, pytest.approx(total))
    assert rated(asked, chosen=chosen) == rated(goal(options=(("size", "small"),)), chosen=chosen)


def test_machine_wash_is_machine_washable_to_the_original_alone():
    bought = replace(TARGET, attributes=("machine washable",), title="")
    asked = goal(attributes=("wash machine",))  # in no text
    assert by_hand("machine washable", "wash machine") == 86
    assert rated(asked, bought).r_att == 0
    assert rated(asked, bought, compat=True).r_att == 1


def test_repeated_nouns_count_in_the_originals_denominator_only():
    """Eleven times "desk", once "lamp", against itself: 2 of 12 is no close title."""
    title = replace(TARGET, nouns=("desk",) * 11 + ("lamp",), query="", breadcrumbs=())
    again = replace(title, query="other")
    assert astuple(rated(bought=again, target=title))[1::4] == (1.0, 1.0)
    assert astuple(rated(bought=again, target=title, compat=True))[1::4] == (0.5, 1 / 6)
    many = replace(title, nouns=("desk",) * 11)
    assert rated(bought=many, target=many).total == 1
    assert rated(bought=many, target=many, compat=True).total == pytest.approx(0.1)


def test_the_right_purchase_scores_1_and_the_wrong_kind_0():
    asked = goal(attributes=TARGET.attributes, options=(("color", "navy blue"), ("size", "small")))
    chosen = {"color": "navy blue", "size": "small"}
    assert rated(asked, chosen=chosen).total == 1
    assert rated(asked, OTHER, chosen).total == 0
    assert rated().r_option == 1  # none is asked for


WORDS = st.sampled_from(["easy clean", "solid wood", "wash", "machine wash", "no slip"])
TUPLES = st.lists(WORDS, max_size=3).map(tuple)
NOUNS = st.lists(st.sampled_from("abc"), max_size=4).map(tuple)
PRODUCTS = st.builds(
    product,
    title=WORDS.map(str.title),
    description=WORDS,
    bullets=TUPLES,
    breadcrumbs=st.lists(st.sampled_from("ABC"), max_size=3).map(tuple),
    query=st.sampled_from("qr"),
    attributes=TUPLES,
    nouns=NOUNS,
)
PAIRS = st.dictionaries(st.sampled_from(["color", "size"]), st.sampled_from(["7", "8", "red"]))


@given(PRODUCTS, PRODUCTS, st.lists(WORDS, min_size=1, max_size=3), PAIRS, PAIRS, st.booleans())
def test_the_formula(target, bought, attributes, wanted, chosen, cheap):
    """The default mode, computed from the specification's lines one after another."""
    asked = goal(attributes=tuple(attributes), options=tuple(wanted.items()))
    found = rated(asked, bought, chosen, 20.0 if cheap else 20.01, target=target)
    texts = " ".join([bought.title.lower(), bought.description]), " ".join(bought.bullets)
    n_att = 0
    for attribute in attributes:
        split = set(attribute.split())
        listed = [set(own.split()) for own in bought.attributes]
        n_att += any(split <= own or own <= split for own in listed) or any(
            attribute in text for text in texts
        )
    n_opt = sum(chosen.get(name) == value for name, value in wanted.items())
    nouns = set(target.nouns)
    score = len(nouns & set(bought.nouns)) / len(nouns) if nouns else 0.2
    shared = len(set(target.breadcrumbs) & set(bought.breadcrumbs))
    r_type = 1 if target.query == bought.query or shared >= 2 or score > 0.2 else 0.5
    r_type = 0 if score == 0 else r_type
    total = r_type * (n_att + n_opt + cheap) / (len(attributes) + len(wanted) + 1)
    assert found.title_score == score
    assert found.total == pytest.approx(total)
    assert 0 <= found.total <= 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attributes": ()}, "at least one attribute: 'buy a desk'"),
        ({"price_cap": 0.0}, "above 0, got 0.0: 'buy a desk'"),
        ({"price_cap": float("nan")}, "above 0, got nan"),
    ],
)
def test_a_goal_without_value_is_refused(fields, message):
    for refuse in (check_goal, rated):
        with pytest.raises(ValueError, match=message):
            refuse(goal(instruction="buy a desk", **fields))
