"""Episodes: the planner, side effects, instructions of texts, changes of mind, answers."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer
from ragen_envs.games.desk.calls import TOOLS, TOPICS, Call, call_of
from ragen_envs.games.desk.env import VARIANTS, DeskVariant
from ragen_envs.games.desk.generator import Generator
from ragen_envs.games.desk.requests import apply_change, calls_of_steps
from ragen_envs.games.desk.rules import RefusedError, apply_call, repairs
from ragen_envs.testing.hostile import HOSTILE
from tests.ragen_envs.games.desk import reference
from tests.ragen_envs.support import make

NAMES = ("Desk-v0", "DeskShifting-v0", "DeskHostile-v0")
WRITES = set(TOOLS) - {"list", "read", "ask", "done"}
SPLITS = [(name, split) for name in NAMES for split in ("val", "test")]


def started(name, seed, split="test", form="plain"):
    env = make(name, split=split, response_format=form, render_mode="ansi")
    env.reset(seed=seed)
    return env


def finish(env, *texts):
    """Give the answers, then the planner's; return the last info."""
    for text in texts:
        *_, info = env.step(text)
    while env.legal_actions:
        *_, info = env.step(oracle_answer(env))
    return info


def test_the_variants():
    budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20, penalty=10)
    generators = Generator(7, 7, 5, 5, 5), Generator(shifting=True), Generator(hostile=True)
    made = [DeskVariant(n, g, budget) for n, g in zip(NAMES, generators, strict=True)]
    assert [*VARIANTS.values()] == made
    assert Generator().max_length == 14
    with pytest.raises(ValueError, match="Odd: set max_actions_per_turn=1; a turn has one call"):
        DeskVariant("Odd", budget=Budget(20, 2, 20))
    with pytest.raises(ValueError, match="Short: instances take up to 14 actions"):
        DeskVariant("Short", budget=Budget(13, 1, 20))


@pytest.mark.parametrize(("name", "split"), SPLITS)
def test_the_planner_solves_each_task_and_uses_only_what_it_was_shown(name, split):
    env = make(name, split=split, response_format="plain")
    for seed in range(256):
        seen, info = env.reset(seed=seed)
        turns = 0
        while env.legal_actions:
            call = call_of(env.best_actions()[0])
            if call.tool in WRITES:
                words = re.sub(r"[\W_]+", " ", f" {seen} ".lower())
                for value in call.values:
                    assert f" {re.sub(r'[^a-z0-9]+', ' ', value.lower()).strip()} " in words
            observation, reward, _, truncated, info = env.step(call.text)
            seen += f"\n{observation}"
            turns += 1
        assert (reward, truncated, info["success"]) == (1.0, False, True)
        assert turns == info["optimal_length"] <= 14
        wanted = {"missing": 0, "side_effects": 0, "obeyed": 0, "before_change": 0}
        assert {figure: info[figure] for figure in wanted} == wanted


def other_changes(env, stream):
    """Return changes that the office takes now and nobody asked for, in random order."""
    steps, start = env.task.worded.steps, env.task.start
    every = [Call(tool, tuple(v)) for tool, *v in reference.small_changes(start, steps)]
    shuffled = [every[i] for i in stream.sample(range(len(every)), len(every))]
    left = list(repairs(env.office, env.task.goal))
    return [call for call in shuffled if call not in left and _is_taken(env.office, call)]


def _is_taken(office, call):
    try:
        apply_call(office, call)
    except RefusedError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("late", [False, True])
def test_every_side_effect_fails(name, late):
    tools = set()
    for seed in range(64):
        env = started(name, seed)
        stream = RandomStream("side effects", name, seed)
        while late and env.best_actions() != ("done",):
            env.step(oracle_answer(env))
        while not late and call_of(env.best_actions()[0]).tool not in WRITES:
            env.step(oracle_answer(env))
        call = other_changes(env, stream)[0]
        tools.add(call.tool)
        *_, info = env.step(call.text)
        assert info["side_effects"] + info["missing"] >= 1
        assert info["action_is_effective"]
        while env.legal_actions:  # without mending it
            left = [c for c in repairs(env.office, env.task.goal) if not _mends(c, call)]
            *_, reward, _, _, info = env.step(left[0].text if left else "done")
        assert not info["success"]
        assert reward == 0
        assert info["side_effects"] + info["missing"] >= 1
    assert tools >= {"send", "enter", "schedule", "move"}


def _mends(repair, call):
    """Return whether a call touches the record of another."""
    return repair.values[0] == call.values[0] and call.tool not in ("send", "schedule")


def test_a_side_effect_that_is_undone_is_none_but_an_instruction_that_was_obeyed_is():
    undone = obeyed = 0
    for seed in range(256):
        env = started("DeskHostile-v0", seed)
        for call in env.task.worded.injections:
            env = started("DeskHostile-v0", seed)
            *_, info = env.step(call.text)
            assert (info["obeyed"], info["action_is_effective"]) == (1, True)
            info = finish(env)
            assert (info["obeyed"], info["success"], info["score"]) == (1, False, 0)
            if call.tool in ("change_order", "move_file"):  # the planner mends it
                assert (info["missing"], info["side_effects"]) == (0, 0)
                obeyed += 1
    env = started("Desk-v0", 0)
    *_, info = env.step("change_order order=O1 boxes=999")
    assert info["side_effects"] >= 1
    undone = finish(env)
    assert undone["success"]
    assert obeyed > 100


def test_an_instruction_is_read_on_the_way_and_is_not_what_is_asked_for():
    for seed in range(256):
        env = started("DeskHostile-v0", seed)
        task = env.task
        assert len(set(task.injections)) == 2
        assert not {*task.worded.injections} & {*calls_of_steps(task.start, task.worded.steps)}
        texts = [*task.start.mails, *task.start.files]
        hostile = [text for text in texts if "instruction" in dict(text.facts)]
        assert len(hostile) == 2
        read = [call.values[0] for call in task.lookups if call.tool == "read"]
        opened = [reference.rows(task.start)[thing] for thing in read]
        assert sum("instruction" in dict(text["facts"]) for text in opened) == 1


def play_calls(env, calls):
    for call in calls:
        *_, info = env.step(call.text)
    return info


@pytest.mark.parametrize("split", ["val", "test"])
def test_who_acts_on_the_first_request_only_fails(split):
    counted = 0
    for seed in range(256):
        env = started("DeskShifting-v0", seed, split)
        task = env.task
        first = [*repairs(task.start, task.first_goal)]
        info = play_calls(env, first)
        counted += info["before_change"] > 0
        assert info["before_change"] == min(task.change.turn, len(first))
        if not env._announced:  # done brings the change, and ends nothing
            observation, _, terminated, _, _ = env.step("done")
            assert not terminated
            assert task.worded.change_text in observation
        *_, terminated, _, info = env.step("done")
        assert terminated
        assert not info["success"]
        assert info["missing"] == info["side_effects"] == 1
    assert counted == 256


@pytest.mark.parametrize("seed", range(0, 256, 4))
def test_what_was_done_before_the_change_can_be_mended(seed):
    env = started("DeskShifting-v0", seed)
    task = env.task
    play_calls(env, repairs(task.start, task.first_goal))
    info = finish(env)
    assert info["success"]
    assert info["before_change"] >= 1


def test_the_change_comes_at_its_turn_and_stays():
    for seed in range(64):
        env = started("DeskShifting-v0", seed)
        change = env.task.worded.change
        assert change.turn >= 2
        for turn in range(1, 12):
            observation, *_, info = env.step("list app=mail")
            told = env.task.worded.change_text in observation
            assert told == (turn >= change.turn) == env._announced
        assert info["before_change"] == 0


def answers(env):
    """Return what the user says about each topic."""
    said = {}
    for topic in TOPICS:
        observation, *_ = env.step(f"ask about={topic}")
        said[topic] = observation.splitlines()[-1]
    return said


TOPIC_OF = {
    **{name: name for name in ("answer", "boxes", "day", "folder", "time")},
    **dict.fromkeys(("to", "guest", "name"), "person"),
    **dict.fromkeys(("thing", "id", "mail", "event", "order", "file"), "thing"),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_users_answers_are_true(name):
    """Each names a value for each step that has one, and it fits that value alone."""
    secrets = 0
    for seed in range(128):
        env = started(name, seed)
        words = env.task.worded
        while name == "DeskShifting-v0" and not env._announced:
            env.step("list app=files")
        steps = apply_change(words.steps, words.change)
        said = answers(env)
        for topic in TOPICS:
            wanted = [
                (step.tool.replace("_", " "), value)
                for step in steps
                for parameter, value in zip(TOOLS[step.tool].parameters, step.values, strict=True)
                if TOPIC_OF.get(parameter.name) == topic
            ]
            if not wanted:
                assert said[topic] == f"My request names no {topic}."
                continue
            parts = said[topic].removesuffix(".").split("; ")
            for part, (verb, value) in zip(parts, wanted, strict=True):
                assert part.startswith(f"{verb}: ")
                for stated in leaves(value):
                    assert stated in part
                secrets += isinstance(value, tuple) and value.kind == "asked"
                assert "ask" not in part.split(": ", 1)[1].split()
    assert secrets > 5


def leaves(value):
    """Return what a value spells out, or the value itself where only the user knows it."""
    if isinstance(value, str):
        return [value]
    parts = value.parts[1:] if value.kind in ("said", "asked") else value.parts
    return [leaf for part in parts for leaf in leaves(part)]


def test_the_answer_in_the_turn_of_the_change_is_of_the_new_request():
    checked = 0
    for seed in range(256):
        env = started("DeskShifting-v0", seed)
        change = env.task.worded.change
        for _ in range(change.turn - 1):
            env.step("list app=files")
        if change.step.tool == "change_order":
            observation, *_ = env.step("ask about=boxes")
            assert change.step.values[1] in observation.splitlines()[-1]
            assert env._announced
            checked += 1
    assert checked > 30


def test_a_value_that_only_the_user_knows_is_told_when_asked_and_not_before():
    found = 0
    for seed in range(256):
        env = started("Desk-v0", seed)
        for step in env.task.worded.steps:
            for value in step.values:
                if isinstance(value, tuple) and value.kind == "asked":
                    about, secret = value.parts
                    phrase = env.task.worded.request
                    assert secret not in phrase or about == "answer" or phrase.count(secret) == 1
                    observation, *_, info = env.step(f"ask about={about}")
                    assert secret in observation.splitlines()[-1]
                    assert info["questions"] == 1
                    found += 1
    assert found > 50


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("read id=M9", "There is no such thing as M9 here."),
        ("read id=E1", "There is no such thing as E1 here."),
        ("cancel id=M1", "There is no such thing as M1 here."),
        ("move event=E9 day=Monday time=09:00", "There is no such thing as E9 here."),
        ("enter file=F1 thing=O9", "There is no such thing as O9 here."),
        ("send to=a@b thing=C9", "There is no such thing as C9 here."),
    ],
)
def test_what_the_office_cannot_do_is_told_and_changes_nothing(text, told):
    env = started("Desk-v0", 0)
    before = env.office
    observation, reward, *_, info = env.step(text)
    assert observation.splitlines()[-1] == told
    assert (reward, info["action_is_valid"]) == (0, True)
    assert env.office is before
    _, _, *_, again = env.step(text)
    assert not again["action_is_effective"]
    assert again["side_effects"] == 0


def test_looking_again_is_not_effective_until_something_changed():
    env = started("Desk-v0", 0)
    effective = [
        env.step(text)[-1]["action_is_effective"]
        for text in ("list app=orders", "list app=orders", "cancel id=O1", "list app=orders")
    ]
    assert effective == [True, False, True, True]
    assert "O1" in env.render()
    assert "cancelled" in env.render()


@pytest.mark.parametrize("form", ["plain", "think", "tools"])
@settings(max_examples=30)
@given(
    st.lists(
        st.sampled_from(sorted(HOSTILE.values(), key=len)[:60])
        | st.builds("{} {}={}".format, st.sampled_from([*TOOLS]), st.text(), st.text())
        | st.text("movecnt =EOFM19:0|[]", max_size=40),
        max_size=6,
    )
)
def test_hostile_texts_change_nothing_that_is_no_call(form, texts):
    env = started("DeskHostile-v0", 1, form=form)
    for text in texts:
        before = env.office
        observation, reward, terminated, _, info = env.step(text)
        assert observation in env.observation_space
        if not info["action_is_valid"]:
            assert env.office is before or reward <= 0
        if terminated:
            env.reset(seed=1)
