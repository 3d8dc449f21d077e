"""Episodes of Twenty Questions with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# The word is "birch tree".
PUZZLING = [f"Quux blorp {letter}?" for letter in "abcdefghij"]
ASKED = ["Is it an animal?", "Is it a plant?", "Can you eat it?", "Can it fly?", "Is it red?"]
ASKED += ["Is it blue?", "Is it green?", "Is it yellow?", "Is it black?", "Is it white?"]
MORE = [f"Does its name contain {letter}?" for letter in "abcdefghij"]
EPISODES = [
    (ASKED + PUZZLING, ("mostly_unparsed", 11)),
    (ASKED + MORE[:1] + PUZZLING[:9], ("never_guessed", 20)),
    ([*ASKED[:4], *["is it Red?"] * 3, *MORE, *ASKED[7:]], ("no_op_loop", 6)),
    ([*ASKED, "Is it a desk?", *MORE[:9]], ("ruled_out_guess", 11)),
    (["Is it a desk?", *ASKED, "Is it a zebra?", *MORE[:8]], ("ruled_out_guess", 12)),
    (["Is it a desk?", "Is it a zebra?", *ASKED, *MORE[:8]], ("wrong_guesses", 2)),
    (["QUESTION"] * 8 + [""] * 3 + ASKED[:9], ("illegal_action", 1)),
    ("oracle", WIN),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("TwentyQuestions", 0, answers), wanted)
