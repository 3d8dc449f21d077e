"""The analysis of a run directory: its shape, its counts, and what it leaves out."""

import json
from types import SimpleNamespace

import pytest

from ragen_bench.analysis import analyse
from ragen_bench.analysis.reasoning import read_thought
from ragen_bench.models import Completion
from ragen_bench.runs.directory import RunDirectory
from tests.ragen_bench.analysis.support import config, record


def thinks(thought, action, finish="stop"):
    return Completion(f"<think>{thought}</think><answer>{action}</answer>", finish=finish)


UP = thinks("The box is above me. I go up.", "Up")
LOST = thinks("The box is below me. I go left.", "Up")
CUT = Completion("<think>The target is below me and", finish="length")
PULLS = (thinks("Sofa sounds safe, so I pick it.", "Sofa"), thinks("I pull Lottery.", "Lottery"))


@pytest.fixture
def run(tmp_path):
    made = RunDirectory(tmp_path, config("think"))
    for index in range(8):
        made.append(record("Sokoban", index, [LOST, CUT, CUT, CUT, UP], form="think"))
    for index in (2, 2, 2):
        sample = len(list(made.episodes())) - 8
        made.append(record("Bandit", index, [PULLS[sample % 2]], sample, "think"))
    return made


def test_counts_and_examples(run):
    analysis = analyse(run)
    assert json.loads(json.dumps(analysis)) == analysis
    bandit, sokoban = analysis["envs"]
    assert (sokoban["env"], sokoban["episodes"], sokoban["failed"]) == ("ragen/Sokoban-v0", 8, 8)
    (cut,) = sokoban["failures"]
    assert cut == {
        "label": "cut_off",
        "about": cut["about"],
        "episodes": 8,
        "share": 1,
        "examples": [[index, 0, 2] for index in range(5)],
    }
    (worse,) = bandit["failures"]
    assert (bandit["episodes"], bandit["failed"], worse["episodes"]) == (3, 2, 2)
    assert (worse["share"], worse["examples"]) == (1, [[2, 0, 1], [2, 2, 1]])
    assert analysis["labels"] == {
        **{f"ragen/Bandit-v0/2/{sample}": worse["label"] for sample in (0, 2)},
        **{f"ragen/Sokoban-v0/{index}/0": "cut_off" for index in range(8)},
    }


def test_reasoning_is_measured(run):
    bandit, sokoban = analyse(run)["envs"]
    found = sokoban["reasoning"]
    assert (found["turns"], found["thoughts"], found["cut"]) == (40, 40, 24)
    # Two thoughts of 8 words a game, three of 6.
    assert (found["words_mean"], found["words_median"]) == (6.8, 6)
    assert found["plans"] == {"agree": 8, "differ": 8, "no_plan": 0, "agreement": 0.5}
    claims = found["claims"]
    assert claims["true"] + claims["false"] + claims["unread"] == 40
    assert claims["truth"] == round(claims["true"] / (claims["true"] + claims["false"]), 6)
    assert claims["elsewhere"] == {"true": 17, "false": 23, "truth": 0.425}
    # The first thought is the same in all eight games.
    assert (found["diversity"]["thoughts"], found["diversity"]["repeated"]) == (8, 1)
    assert found["diversity"]["distinct"] == [0.125] * 3
    # Only sample 0 of an instance enters, so of the bandit there is one thought.
    assert bandit["reasoning"]["diversity"] is None
    assert bandit["reasoning"]["plans"]["agree"] == 1


def test_a_game_without_names_and_places_has_no_plans_and_no_claims(tmp_path):
    run = RunDirectory(tmp_path, config("think"))
    said = ("search[pillow sham]", "click[ph3egrb]", "click[buy now]")
    thoughts = ("The shop is on the left. I search.", "I choose it: down.", "So, buy now.")
    answers = [thinks(*pair) for pair in zip(thoughts, said, strict=True)]
    run.append(record("WebShop", 10, answers, form="think"))
    (row,) = analyse(run)["envs"]
    assert [cause["label"] for cause in row["failures"]] == ["over_price"]
    assert row["reasoning"]["thoughts"] == 3
    assert row["reasoning"]["words_mean"] == 5
    assert row["reasoning"]["plans"] == {"agree": 0, "differ": 0, "no_plan": 0, "agreement": None}
    assert row["reasoning"]["claims"]["truth"] is None


def test_diversity_is_that_of_the_first_sample(tmp_path):
    made = RunDirectory(tmp_path, config("think"))
    for index, thought in enumerate(("The arms are alike.", "I trust the first.")):
        first = [thinks(thought, "x")]
        made.append(record("Bandit", index, first, 0, "think"))
        made.append(record("Bandit", index, [PULLS[1]], 1, "think"))
    (bandit,) = analyse(made)["envs"]
    found = bandit["reasoning"]["diversity"]
    assert (found["thoughts"], found["repeated"]) == (2, 0)


def test_what_differs_from_its_replay_is_left_out(run):
    lines = run.episodes_file.read_text().splitlines(keepends=True)
    lines[0] = lines[0].replace('"score":0.0', '"score":0.5')
    run.episodes_file.write_text("".join(lines))
    _, sokoban = analyse(run)["envs"]
    assert (sokoban["episodes"], sokoban["not_replayed"]) == (7, 1)
    assert sokoban["failures"][0]["examples"][0] == [1, 0, 2]
    assert sokoban["reasoning"]["turns"] == 35


@pytest.mark.parametrize(
    ("answer", "reasoning", "expected"),
    [
        ("<think> a </think><answer>Up</answer>", "", "a"),
        ("<answer>Up</answer>", " b ", "b"),
        ("<think>never closed", "", "never closed"),
        ("<think>a</think>", "b", "b\na"),
        ("Up", "", ""),
        ("<think></think>", "", ""),
    ],
)
def test_the_thought_of_a_turn(answer, reasoning, expected):
    assert read_thought(SimpleNamespace(answer=answer, reasoning=reasoning)) == expected
