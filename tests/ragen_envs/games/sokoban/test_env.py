import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.sokoban.env import VARIANTS, SokobanEnv, SokobanVariant
from ragen_envs.games.sokoban.generator import Generator
from ragen_envs.games.sokoban.rules import ACTIONS, Level
from ragen_envs.games.sokoban.text import CLASSIC, NEW, LevelRenderer
from tests.cases import examples
from tests.ragen_envs.games.sokoban import reference
from tests.ragen_envs.support import SOKOBAN, blocks, make, state_in

READ = {"Sokoban-v0": "#_OX√PS", "SokobanNewVocab-v0": "W.GBCA@"}
XSB = "# .$*@+"


def to_xsb(name, grid):
    symbols = READ.get(name, READ["Sokoban-v0"])
    return grid.translate(str.maketrans(symbols, XSB))


def test_the_variants():
    assert {
        "Sokoban-v0": SokobanVariant("Sokoban-v0", Generator(6, 6, 1, 10), CLASSIC, False),
        "SokobanLarge-v0": SokobanVariant("SokobanLarge-v0", Generator(8, 8, 2, 10), CLASSIC),
        "SokobanNewVocab-v0": SokobanVariant("SokobanNewVocab-v0", vocabulary=NEW),
        "SokobanCoord-v0": SokobanVariant("SokobanCoord-v0", coordinates=True),
    } == VARIANTS
    assert all(v.budget == Budget(5, 5, 10, 10) for v in VARIANTS.values())
    assert (CLASSIC.symbols, NEW.symbols) == ("#_OX√PS", "W.GBCA@")


def test_the_first_observation_in_full():
    assert make("SokobanCoord-v0").reset(seed=0)[0] == (
        "You are playing Sokoban: push the box onto the target.\n"
        "Symbols: # wall, _ floor, O target, X box, √ box on target, P you, S you on target.\n"
        "You move one square at a time. Moving into a box pushes it one square further, if the "
        "square behind it is free. Boxes cannot be pulled, and nothing moves through a wall.\n"
        "Actions: Up, Down, Left, Right.\n"
        "You have 5 turns, with at most 5 actions each and 10 in all.\n"
        "\n"
        "######\n##_P_#\n###X_#\n##__O#\n#____#\n######\n"
        "Positions as (row, column), both from 0 in reading order: you (1, 3); boxes (2, 3); "
        "targets (3, 4).\n"
        "\n"
        "First reason, then answer in exactly this form, with || between actions:\n"
        "<think>REASONING</think><answer>ACTION || ACTION</answer>"
    )


def test_the_rules_of_the_other_variants():
    large = make("SokobanLarge-v0").reset(seed=0)[0]
    assert large.startswith("You are playing Sokoban: push all 2 boxes onto the targets.\n")
    new = make("SokobanNewVocab-v0").reset(seed=0)[0]
    assert (
        "Symbols: W wall, . floor, G target, B box, C box on target, A you, @ you on target.\n"
        in new
    )


@pytest.mark.parametrize("name", SOKOBAN)
@pytest.mark.parametrize("split", ["val", "test"])
def test_held_out_states_are_the_shipped_levels(name, split):
    env = make(name, split=split)
    for seed, (figures, rows) in enumerate(blocks("sokoban/levels", f"{name}-{split}.xsb")):
        first, info = env.reset(seed=seed)
        grid = "\n".join(state_in(first).split("\n")[: len(rows)])
        assert to_xsb(name, grid) == "\n".join(rows)
        assert info["optimal_length"] == int(figures["optimal_length"])


@settings(max_examples=examples(150))
@given(
    st.sampled_from(SOKOBAN),
    st.integers(0, 255),
    st.lists(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=5), min_size=1, max_size=5),
)
def test_play_agrees_with_characters(name, seed, turns):
    env = make(name, split="val", response_format="plain")
    state = to_xsb(name, state_in(env.reset(seed=seed)[0]).split("\nPositions")[0])
    left = 10
    for actions in turns:
        run, points, start = 0, 0, state
        for action in actions[:left]:
            before = state
            state = reference.moved(state, reference.offsets(state)[ACTIONS.index(action)])
            points += -10 + 100 * (state.count("*") - before.count("*"))
            run += 1
            if reference.solved(state):
                points += 1000
                break
        left -= run
        observation, reward, terminated, truncated, info = env.step(" || ".join(actions))
        grid = observation.split("\n", 1)[1]
        if name == "SokobanCoord-v0":
            grid, _, line = grid.rpartition("\n")
            assert line == coordinates(state)
        assert to_xsb(name, grid) == state
        assert round(reward * 100) == points
        assert reward == points / 100
        assert info["success"] == terminated == reference.solved(state)
        assert info["actions_left"] == left
        changed = state != start or (run > 1 and info["action_is_effective"])
        assert info["action_is_effective"] == changed
        if terminated or truncated:
            break


def coordinates(state):
    rows = state.split("\n")
    places = [(y, x, c) for y, row in enumerate(rows) for x, c in enumerate(row)]

    def named(symbols):
        return " ".join(f"({y}, {x})" for y, x, c in places if c in symbols)

    return (
        f"Positions as (row, column), both from 0 in reading order: you {named('@+')}; "
        f"boxes {named('$*')}; targets {named('.*+')}."
    )


@pytest.mark.parametrize("name", SOKOBAN)
def test_the_oracle_solves_every_test_level_in_optimal_length(name):
    env = make(name, split="test", response_format="plain")
    boxes = VARIANTS[name].generator.boxes
    for seed in range(256):
        first, info = env.reset(seed=seed)
        on = sum(to_xsb(name, state_in(first)).split("(")[0].count(c) for c in "*")
        total, length = 0.0, info["optimal_length"]
        while env.legal_actions:
            answer = " || ".join(env.best_actions())
            _, reward, terminated, truncated, info = env.step(answer)
            total += reward
        assert (terminated, truncated, info["success"]) == (True, False, True)
        assert 10 - info["actions_left"] == length
        assert info["turn"] == -(-length // 5)
        assert round(total, 6) == round(10 + (boxes - on) - 0.1 * length, 6)


def fixed(xsb):
    """Return an environment whose only level is given."""

    class Fixed(SokobanEnv):
        def get_instance(self, seed):
            return Level(xsb, 3)

    env = Fixed("Sokoban-v0", response_format="plain")
    env.reset(seed=0)
    return env


def test_rewards_step_by_step():
    env = fixed("#######\n#@$. .#\n# $   #\n#######")
    assert env.step("Right")[1] == 0.9  # a box comes onto a target
    assert env.step("Right")[1] == -1.1  # and leaves it
    assert env.step("Right")[1] == 0.9
    env = fixed("#####\n#@$.#\n#####")
    observation, reward, terminated, truncated, _ = env.step("Right")
    assert (reward, terminated, truncated) == (10.9, True, False)
    assert observation == (
        "Done: Right. Reward: 10.9. Remaining: 4 turns, 9 actions.\n#####\n#_P√#\n#####"
    )


def test_a_blocked_action_costs_and_counts_but_is_not_effective():
    env = fixed("######\n#@ $.#\n######")
    _, reward, _, _, info = env.step("Up || Left || Down")
    assert reward == -0.3
    assert info["actions_left"] == 7
    assert info["action_is_valid"]
    assert not info["action_is_effective"]
    assert env.step("Up || Right")[4]["action_is_effective"]


def test_a_dead_state_is_played_on():
    env = fixed("######\n#@$ .#\n##   #\n######")
    env.step("Down")
    assert env.best_actions() == ("Right", "Right")
    env = fixed("######\n# @$ #\n#. ###\n######")
    env.step("Right")
    assert env.best_actions() == ("Up",)
    assert env.step("Up")[2:4] == (False, False)


def test_budgets():
    env = fixed("######\n#@ $.#\n######")
    for turn in range(4):
        assert env.step("Up")[2:4] == (False, False), turn
    assert env.step("Up")[2:4] == (False, True)
    env.reset(seed=0)
    assert env.step("Up||Up||Up||Up||Up")[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step("Up || Up || Up || Up || Up || Up")
    assert (terminated, truncated, info["actions_left"]) == (False, True, 0)
    assert reward == -0.5


@given(st.integers(0, 255), st.sampled_from(SOKOBAN))
def test_a_board_draws_any_state(seed, name):
    figures, rows = blocks_of(name)[seed]
    level = Level("\n".join(rows), int(figures["optimal_length"]))
    for vocabulary, symbols in ((CLASSIC, "#_OX√PS"), (NEW, "W.GBCA@")):
        drawn = LevelRenderer(level, vocabulary).draw(level.player, level.boxes)
        assert drawn == level.xsb.translate(str.maketrans(XSB, symbols))


def blocks_of(name):
    if name not in _BLOCKS:
        _BLOCKS[name] = blocks("sokoban/levels", f"{name}-test.xsb")
    return _BLOCKS[name]


_BLOCKS = {}
