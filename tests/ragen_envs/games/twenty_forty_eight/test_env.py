import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.twenty_forty_eight.env import VARIANTS, TwentyFortyEightVariant
from ragen_envs.games.twenty_forty_eight.generator import Generator
from ragen_envs.games.twenty_forty_eight.rules import ACTIONS, Opening
from tests.cases import examples
from tests.ragen_envs.games.twenty_forty_eight import reference
from tests.ragen_envs.games.twenty_forty_eight.boards import packed
from tests.ragen_envs.support import blocks, chi_square, make, state_in

NAME = "TwentyFortyEight-v0"


def read(state):
    """Return the rows of a state's text."""
    lines = state.split("\n")
    assert {len(line) for line in lines} == {3 * len(lines) - 1}
    return [[0 if word == "." else int(word) for word in line.split()] for line in lines]


def started(rows, noise_seed=0, **options):
    """Return an environment that begins with a board of one's own."""
    env = make(NAME, response_format="plain", render_mode="ansi", **options)
    env.get_instance = lambda _: Opening(len(rows), packed(rows))
    env.reset(seed=0, options={"noise_seed": noise_seed})
    return env


def test_the_variant():
    assert Generator() == Generator(size=3, target=6, total=48)
    budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20, penalty=10)
    assert {NAME: TwentyFortyEightVariant(NAME, Generator(), budget, 0.943)} == VARIANTS


def test_variants_that_cannot_be_played_are_refused():
    with pytest.raises(ValueError, match="Odd: a turn has one move, and shows the new tile after"):
        TwentyFortyEightVariant("Odd", budget=Budget(20, 2, 20))
    with pytest.raises(ValueError, match="Odd: expected is above 0 and at most 1, got 0"):
        TwentyFortyEightVariant("Odd", expected=0)


def test_the_first_observation_in_full():
    assert make(NAME, split="val").reset(seed=0)[0] == (
        "You are playing 2048: slide the tiles until one of them is 64.\n"
        "Symbols: . an empty square; a number, a tile.\n"
        "A move slides all tiles as far as they go. Two equal tiles that meet become one tile of "
        "their sum. Each tile merges once in a move, and of three in a line the two that are "
        "farther in its direction merge.\n"
        "After each move that changes the board, a new tile appears on an empty square, all of "
        "them equally likely: a 2 in 9 of 10 cases, else a 4. A move that changes nothing only "
        "costs the turn. You lose if no move changes the board.\n"
        "Actions: Up, Right, Down, Left.\n"
        "You have 20 turns, with one action each.\n"
        "\n"
        " 4  8  4\n"
        " 8 16  2\n"
        " 2  .  4\n"
        "\n"
        "First reason, then answer in exactly this form:\n"
        "<think>REASONING</think><answer>ACTION</answer>"
    )


@pytest.mark.parametrize("split", ["val", "test"])
def test_held_out_states_are_the_shipped_openings(split):
    env = make(NAME, split=split)
    for seed, (_, rows) in enumerate(blocks("twenty_forty_eight/openings", f"{NAME}-{split}.txt")):
        state = state_in(env.reset(seed=seed)[0])
        assert [line.split() for line in state.split("\n")] == [line.split() for line in rows]


@settings(max_examples=examples(60))
@given(
    st.integers(0, 255),
    st.integers(0, 9),
    st.lists(st.sampled_from(ACTIONS), min_size=20, max_size=20),
)
def test_play_agrees_with_lists_of_tiles(seed, noise_seed, actions):
    """Slides, new tiles, ends, rewards and info, from the text that stood there before."""
    env = make(NAME, split="val", response_format="plain")
    first, _ = env.reset(seed=seed, options={"noise_seed": noise_seed})
    rows = read(state_in(first))
    for turn, action in enumerate(actions, 1):
        observation, reward, terminated, truncated, info = env.step(action)
        after, slid = read(observation.partition("\n")[2]), reference.moved(rows, action)
        won = reference.largest(slid) == 64
        assert info["action_is_effective"] == (slid != rows)
        if won or slid == rows:
            assert after == slid
        else:
            places = reference.empty(slid)
            assert after in [
                reference.with_tile(slid, place, tile) for place in places for tile in (2, 4)
            ]
        assert info["largest_tile"] == reference.largest(after)
        assert (info["success"], reward) == (won, float(won))
        assert terminated == (won or not reference.legal(after))
        assert truncated == (turn == 20 and not terminated)
        rows = after
        if terminated:
            break


def test_the_target_ends_the_game():
    env = started([[32, 2, 0], [32, 0, 0], [0, 0, 0]])
    observation, reward, terminated, truncated, info = env.step("Up")
    assert observation == (
        "Done: Up. Reward: 1. Remaining: 19 turns, 19 actions.\n64  2  .\n .  .  .\n .  .  ."
    )
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert info["score"] == 1


def test_a_board_that_no_move_changes_ends_the_game():
    for noise_seed in range(20):
        env = started([[4, 8, 4], [8, 16, 8], [4, 0, 32]], noise_seed)
        observation, reward, terminated, truncated, info = env.step("Right")
        rows = read(observation.partition("\n")[2])
        assert terminated == (not reference.legal(rows))
        assert (reward, truncated, info["success"]) == (0.0, False, False)


def test_a_move_that_changes_nothing_costs_the_turn_alone():
    env = started([[2, 4, 0], [8, 0, 0], [2, 0, 0]])
    before = env.render()
    for turn in range(1, 20):
        observation, reward, terminated, truncated, info = env.step("Left")
        assert observation.partition("\n")[2] == env.render() == before
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert (info["action_is_effective"], info["turn"]) == (False, turn)
    assert env.step("Left")[2:4] == (False, True)


@pytest.mark.parametrize("answer", ["", "Jump", "Leftt", "Left Up", "2048"])
def test_what_is_not_an_action_moves_nothing_and_costs_a_tenth(answer):
    env = started([[2, 2, 0], [0, 0, 0], [0, 0, 0]])
    before = env.render()
    _, reward, terminated, truncated, info = env.step(answer)
    assert (reward, terminated, truncated) == (-0.1, False, False)
    assert env.render() == before
    assert not info["action_is_valid"]
    assert env.actions_left == 20


def test_one_action_of_a_turn_is_run():
    env = started([[2, 2, 0], [0, 0, 0], [0, 0, 0]])
    observation = env.step("Left || Right")[0]
    assert observation.startswith("Done: Left. The last action was not run.")


@given(st.integers(0, 10**6), st.integers(0, 3))
@settings(max_examples=examples(60))
def test_the_nth_new_tile_has_its_own_random_number(noise_seed, wasted):
    """Turns without a move use no tile, and other boards get the tile at the same rank."""
    rows = [[2, 4, 0], [8, 0, 0], [2, 0, 0]]
    env, other = started(rows, noise_seed), started(rows, noise_seed)
    for _ in range(wasted):
        assert not other.step("Left")[-1]["action_is_effective"]
    assert env.step("Right")[0].partition("\n")[2] == other.step("Right")[0].partition("\n")[2]
    twin = started([list(row)[::-1] for row in rows], noise_seed)
    assert new_tile(twin, "Left") == new_tile(started(rows, noise_seed), "Right")


def new_tile(env, action):
    """Return the rank of the new tile's square among the empty ones, and its number."""
    slid = reference.moved(read(env.render()), action)
    after = read(env.step(action)[0].partition("\n")[2])
    places = reference.empty(slid)
    (rank,) = [i for i, (y, x) in enumerate(places) if after[y][x]]
    return rank, after[places[rank][0]][places[rank][1]]


def test_new_tiles_have_their_odds_in_play():
    squares, fours = [0] * 5, [0, 0]
    for noise_seed in range(1000):
        rank, tile = new_tile(started([[2, 4, 0], [8, 0, 0], [2, 0, 0]], noise_seed), "Right")
        squares[rank] += 1
        fours[tile == 4] += 1
    assert chi_square(squares, [1] * 5) < 25
    assert chi_square(fours, [9, 1]) < 15


def test_the_ceiling_is_the_same_in_all_instances():
    for split in ("train", "val", "test"):
        env = make(NAME, split=split)
        assert {env.reset(seed=seed)[1]["ceiling"] for seed in range(5)} == {0.943}
    assert "expected score of the reference player over train openings, 0.943" in type(env).__doc__


def test_pictures_show_the_tiles_up_to_the_target():
    env = started([[2, 4, 0], [8, 16, 0], [32, 0, 2]], split="val")
    assert [tile.meaning for tile in env.board.tiles] == [
        "empty", "tile 2", "tile 4", "tile 8", "tile 16", "tile 32", "tile 64",
    ]  # fmt: skip
    assert list(env.tile_numbers()) == [1, 2, 0, 3, 4, 0, 5, 0, 1]
    assert env.picture().shape == (96, 96, 3)
    marks = ["".join(tile.mark) for tile in env.board.tiles]
    assert len({*marks}) == 7
    assert {len(mark) for mark in marks[1:]} == {256}
