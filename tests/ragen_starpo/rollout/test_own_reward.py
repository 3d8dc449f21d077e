"""Functions of the user's own: what they are told, what they add, and what is said of mistakes."""

import importlib
import sys
from types import ModuleType

import numpy as np
import pytest

from ragen_bench.episodes.episode import Task
from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion
from ragen_envs.core.protocol import format_answer
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.sections import ShapingSettings
from ragen_starpo.rollout.episodes import EpisodeFactory, RolloutSpec
from ragen_starpo.rollout.own_reward import OwnReward
from ragen_starpo.rollout.shaping import make_reward
from ragen_starpo.rollout.trajectory import Sampled
from tests.ragen_starpo.rollout.test_shaping import playing

ANSWERS = [format_answer(["Up"], "think", ""), "?", format_answer(["Up", "Up"], "think", "")]
PLACE = "ragen/Sokoban-v0/test, instance 3, sample 0, turn"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Makes a reward of a source that a user has in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def made(source, name="reward"):
        sys.modules.pop("my_reward", None)
        (tmp_path / "my_reward.py").write_text(source)
        return OwnReward(f"my_reward:{name}")

    yield made
    sys.modules.pop("my_reward", None)


def rewards(own, weights=ShapingSettings(), answers=ANSWERS):
    """Return the recorded turns with what is learned of each."""
    play = playing("Sokoban", answers)
    reward = make_reward(weights, next(play), own)
    return [(turn, reward(turn)) for turn in play]


def test_it_is_told_all_turns_so_far_and_is_added(own):
    told = own(
        "seen = []\n"
        "def reward(episode, turn):\n"
        "    seen.append((episode, turn))\n"
        "    turn.info.clear()\n"
        "    return 10 * len(episode.turns)\n"
    )
    turns = rewards(told, ShapingSettings(turn_cost=0.5))
    seen = sys.modules["my_reward"].seen
    assert [reward - turn.reward for turn, reward in turns] == pytest.approx([9.5, 19.5, 29.5])
    for number, (episode, turn) in enumerate(seen):
        assert episode.turns[-1] is turn
        assert [past.number for past in episode.turns] == [*range(number + 1)]
        record = turns[number][0]
        for name in ("observation", "answer", "reward", "format_is_valid", "truncated"):
            assert getattr(turn, name) == getattr(record, name)
        assert turn.actions == tuple(record.actions)
    episode, turn = seen[-1]
    assert (episode.environment, episode.instance, episode.sample) == ("ragen/Sokoban-v0", 3, 0)
    assert (episode.response_format, turn.cut) == ("think", False)
    assert [one.format_is_valid for one in episode.turns] == [True, False, True]
    assert seen[0][0].observation == seen[1][1].observation


def test_info_is_the_environments(own):
    told = own("def reward(episode, turn): return turn.info['turn'] + turn.info['success']")
    assert [round(reward - turn.reward, 6) for turn, reward in rewards(told)] == [1, 2, 3]


def test_an_answer_that_was_cut(own):
    told = own("def reward(episode, turn): return turn.cut")
    play = playing("Sokoban", [])
    episode = next(play)
    reward = told.for_episode(episode)
    for finish in ("stop", "length"):
        episode.take(Completion(ANSWERS[0], finish=finish))
        assert reward(episode.last_turn) == (finish == "length")


@pytest.mark.parametrize("value", ["0.25", "1", "True", "numpy.float32(0.5)", "numpy.int64(2)"])
def test_numbers(own, value):
    told = own(f"import numpy\ndef reward(episode, turn): return {value}")
    ((turn, reward),) = rewards(told, answers=ANSWERS[:1])
    assert type(reward) is float
    assert reward - turn.reward == pytest.approx(float(eval(value, {"numpy": np})))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", f"returned a NoneType; a reward is a finite number ({PLACE} 1)"),
        ("return '1'", f"returned a str; a reward is a finite number ({PLACE} 1)"),
        ("return float('nan')", f"returned nan; a reward is a finite number ({PLACE} 1)"),
        ("return -float('inf')", f"returned -inf; a reward is a finite number ({PLACE} 1)"),
        ("return 10**400", f"raised OverflowError: int too large to convert to float ({PLACE} 1)"),
        (
            "return {}['a\\nb']",
            f"raised KeyError: 'a\\nb' (my_reward.py, line 3, in reward; {PLACE} 1)",
        ),
        ("exit()", f"raised SystemExit: None (my_reward.py, line 3, in reward; {PLACE} 1)"),
    ],
)
def test_mistakes_name_the_turn(own, body, said):
    told = own(f"def reward(episode, turn):\n    if turn.number:\n        {body}\n    return 0")
    with pytest.raises(UserError) as refused:
        rewards(told)
    assert str(refused.value) == f"shaping.python=my_reward:reward {said}"
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "my_reward:reward cannot be imported: ZeroDivisionError: division by zero"),
        ("def other(): pass", "cannot be imported: AttributeError: module 'my_reward' has no"),
        ("reward = 3", "my_reward:reward is not a function of an episode and a turn"),
    ],
)
def test_what_cannot_be_called(own, source, said):
    with pytest.raises(UserError) as refused:
        own(source)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["my_reward", "my_reward:", ":reward", ""])
def test_names_without_a_function(name):
    settings = {"model": "m", "envs": ["Bandit-v0"], "shaping": {"python": name}}
    with pytest.raises(UserError, match="shaping: python must be MODULE:FUNCTION, such as"):
        recipe_of(settings, "r.toml")


def test_another_source_is_another_reward(own):
    one = own("def reward(episode, turn): return 1").identity()
    assert list(one) == ["source_sha256"]
    assert own("def reward(episode, turn): return 12").identity() != one
    assert own("def reward(episode, turn): return 1").identity() == one


def test_the_identity_covers_what_is_imported_and_not_what_is_loaded(own, tmp_path, monkeypatch):
    """Loaded from the same folder by something else, as verl from a clone below it."""
    source = "import my_rates\ndef reward(episode, turn): return my_rates.RATE"
    (tmp_path / "my_rates.py").write_text("from my_bases import BASE\nRATE = 2 * BASE\n")
    (tmp_path / "my_bases.py").write_text("BASE = 1\n")
    before = own(source).identity()
    other = ModuleType("other_library")
    other.__file__ = str(tmp_path / "other_library.py")
    (tmp_path / "other_library.py").write_text("")
    monkeypatch.setitem(sys.modules, "other_library", other)
    assert own(source).identity() == before
    (tmp_path / "my_bases.py").write_text("BASE = 2\n")
    assert own(source).identity() != before
    for name in ("my_rates", "my_bases"):
        del sys.modules[name]


def test_in_a_package_modules_are_named_from_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    folder = tmp_path / "my_package/deep"
    folder.mkdir(parents=True)
    files = {"__init__": "", "tools": "", "rates": "", "unused": "", "../__init__": ""}
    files["reward"] = (
        "from ..deep import rates\ndef reward(episode, turn):\n    from . import tools"
    )
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    reward = OwnReward("my_package.deep.reward:reward")
    found = {}
    for name in files:
        before = reward.identity()
        (folder / f"{name}.py").open("a").write("# edited\n")
        found[name] = reward.identity() != before
    assert found == {**dict.fromkeys(files, True), "unused": False}
    for name in [name for name in sys.modules if name.startswith("my_package")]:
        del sys.modules[name]


def test_a_file_beside_it_takes_no_packages_place(own, tmp_path):
    (tmp_path / "colorsys.py").write_text("raise ValueError('the wrong one')")
    own("def reward(episode, turn): return 1")
    assert sys.path[-1] == str(tmp_path)
    sys.modules.pop("colorsys", None)
    assert importlib.import_module("colorsys").rgb_to_hsv


@pytest.mark.slow
def test_held_out_episodes_have_none(own, chatml):
    own("def reward(episode, turn): raise ValueError")
    chat, end = chatml
    settings = {"model": "m", "envs": ["Bandit-v0"], "shaping": {"python": "my_reward:reward"}}
    factory = EpisodeFactory(recipe_of(settings, "a test"), chat, frozenset([end]), None)
    answer = Sampled((end,), (0.0,), stopped=True)
    _, held_out = factory.begin(RolloutSpec(0, Task("ragen/Bandit-v0", "val", 0, 0), 0))
    held_out.take(answer)
    _, learned = factory.begin(RolloutSpec(0, Task("ragen/Bandit-v0", "train", 0, 0), 0))
    with pytest.raises(UserError, match="raised ValueError"):
        learned.take(answer)
