"""Episodes of WebShop with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# Task 10: a pillow sham, acne prone, color lavender, bed size twin, up to 30 dollars. Of what
# the search finds pgber9v meets it all; ph3egrb too, for 39.13 dollars; plmhqnu is not acne prone;
# pjww9jm, on the second page, is a throw blanket; p2e9rzm, there too, has no bed size twin.
WORDS = {
    "": "",
    "s": "search[acne prone pillow sham lavender twin]",
    "home": "click[back to search]",
    ">": "click[next >]",
    "<": "click[< prev]",
    "buy": "click[buy now]",
}
EPISODES = [
    ("s, pgber9v, lavender, twin, buy", WIN),
    ("s, >, <, pgber9v, red, lavender, description, <, twin", ("no_purchase", 7)),
    ("s, >, <, pgber9v, red, lavender, twin, buy", WIN),
    ("s, >, pjww9jm, buy", ("wrong_product", 3)),
    ("s, plmhqnu, lavender, twin, buy", ("missed_attribute", 2)),
    ("s, ph3egrb, lavender, twin, buy", ("over_price", 2)),
    ("s, ph3egrb, <, pgber9v, <, ph3egrb, buy", ("over_price", 6)),
    ("s, >, p2e9rzm, lavender, buy", ("option_not_offered", 3)),
    ("s, pgber9v, lavender, twin xl, buy", ("wrong_option", 4)),
    ("s, pgber9v, lavender, red, twin, buy", ("wrong_option", 4)),
    ("s, pgber9v, red, lavender, red, red, buy", ("wrong_option", 5)),
    ("s, pgber9v, buy", ("option_left_open", 3)),
    ("s, pgber9v, lavender, buy", ("option_left_open", 4)),
    ("s, pgber9v, twin xl, features, <, buy", ("option_left_open", 6)),
    ("s, pgber9v, lavender, twin, <, pgber9v, buy", ("option_left_open", 7)),
    ("?, ?, ?, ?, s, pgber9v, buy", ("option_left_open", 7)),
    ("s, pgber9v, lavender, twin, features, <, reviews, <, reviews", ("no_purchase", 9)),
    ("s, pgber9v, lavender, features, <, reviews, <, reviews, <", ("no_purchase", 8)),
    ("s, ph3egrb, lavender, twin, <, home, s, ph3egrb, twin", ("no_purchase", 6)),
    ("s, home, s, home, s, home, s, ?, >", ("no_purchase", 6)),
    ("s, >, >, >, >, <, <, <, <", ("no_purchase", 4)),
    ("s, ph3egrb, attributes, <, features, <, reviews, <, twin", ("no_purchase", 5)),
    ("s, pgber9v, lavender, lavender, lavender, features, <, features, <", ("no_op_loop", 4)),
    ("s, pgber9v, red, lavender, lavender, lavender, features, <, features", ("no_op_loop", 5)),
    ("?, ?, ?, ?, s, ?, ?, >, ?", ("illegal_action", 1)),
    (", s, pgber9v, ?, ?, ?, , , ", ("gave_nothing", 1)),
]


@pytest.mark.parametrize(("script", "wanted"), EPISODES)
def test_the_label_and_its_turn(script, wanted):
    """Read "s, twin": the search, then a click; "?" is a click that no page offers."""
    answers = [WORDS.get(word, f"click[{word}]") for word in script.split(", ")]
    check(played("WebShop", 10, answers), wanted)
