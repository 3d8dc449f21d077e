"""Episodes of Search with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# Test 0 asks for the employer of the author of The Vornholt Songs, Dastessa Furbubar: Grostnesk
# Glassworks.
SONGS = ["search query=the vornholt songs", "open result=1"]
AUTHOR = [*SONGS, "search query=dastessa furbubar", "open result=1"]
WORDS = [f"search query={word}" for word in ("glassworks", "mill", "gate", "tower", "hall")]
WORDS += [f"search query={word}" for word in ("songs", "atlas", "ledger", "bridge", "letters")]
EPISODES = [
    ([*AUTHOR, "answer text=grostnesk glassworks"], WIN),
    (["answer text=grostnesk glassworks"], WIN),
    (["answer text=freldrin saltworks"], ("never_searched", 1)),
    (["answer text=dastessa furbubar"], ("never_searched", 1)),
    ([*SONGS, "answer text=Dastessa Furbubar"], ("stopped_on_the_way", 3)),
    ([*AUTHOR, "answer text=Vornholt songs"], ("stopped_on_the_way", 5)),
    ([*SONGS, "answer text=freldrin saltworks"], ("answered_early", 3)),
    ([*AUTHOR[:3], "answer text=freldrin saltworks"], ("answered_early", 4)),
    ([*AUTHOR, "answer text=rastcombe"], ("misread", 5)),
    ([*AUTHOR, *WORDS[:8]], ("no_answer", 4)),
    ([*SONGS, *WORDS], ("out_of_budget", 12)),
    ([*SONGS, *["open result=1"] * 10], ("no_op_loop", 3)),
    (["search query=vornholt", *["vornholt"] * 11], ("illegal_action", 2)),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("Search", 0, answers), wanted)
