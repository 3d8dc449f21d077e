"""The turns, budgets and flags that all games share, on a game small enough to be counted by hand.

The player of `CountEnv` stands on a number. Up adds 1, Stay adds 0, Win ends the episode in
success and Lose ends it without; each action is worth a point of its own.
"""

import copy
import dataclasses
import gc
import pickle
import tracemalloc
from dataclasses import dataclass
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.budget import Budget
from ragen_envs.instances import SHIPPED_SPLITS
from ragen_envs.protocol import RESPONSE_FORMATS, ActionReader, FreeText, format_answer
from ragen_envs.sokoban.env import SokobanEnv
from ragen_envs.text_env import TextEnv
from tests.ragen_envs.support import IDS, TWENTY_QUESTIONS, WEBSHOP, held_out_size, make

ACTIONS = ("Up", "Stay", "Win", "Lose")
POINTS = {"Up": 1, "Stay": -10, "Win": 100, "Lose": -30}


@dataclass(frozen=True)
class Number:
    first: int
    digest: str = "abc"
    part: str = "train"


@dataclass(frozen=True)
class CountVariant:
    name: str = "Count-v0"
    budget: Budget = Budget()


class CountEnv(TextEnv[CountVariant, Number]):
    variants: ClassVar = {"Count-v0": CountVariant()}
    game = "count"
    held_out_files = "{name}-{split}.txt"
    example = "WORD || WORD"

    def _symbols(self):
        return frozenset("№")

    def candidates(self, stream):
        while True:
            yield Number(stream.below(1000))

    def write_instance(self, instance):
        return str(instance.first), {}

    @staticmethod
    def read_instance(body, figures):
        return Number(int(body))

    def _begin(self, instance):
        self.number = instance.first
        self.noise = self._dynamics().word()
        return ActionReader(ACTIONS, self.example)

    def _apply(self, action):
        name = ACTIONS[action]
        self.number += name == "Up"
        self._terminated = name in ("Win", "Lose")
        self._success = name == "Win"
        return POINTS[name], name == "Up"

    def _rules(self):
        return "Count."

    def _state(self):
        return f"№ {self.number}"

    def _oracle(self, instance):
        return {"ceiling": 1.0}

    def best_actions(self):
        return ("Win",)


def count(response_format="plain", **budget):
    return CountEnv(CountVariant(budget=Budget(**budget)), response_format=response_format)


def test_the_default_budget_is_that_of_ragen():
    assert Budget() == Budget(max_turns=5, max_actions_per_turn=5, max_actions=10, penalty=10)


def test_the_first_observation_has_rules_state_and_instructions():
    env = CountEnv("Count-v0")
    observation, info = env.reset(seed=3)
    assert observation == (
        f"Count.\n\n№ {env.number}\n\n"
        "First reason, then answer in exactly this form, with || between actions:\n"
        "<think>REASONING</think><answer>WORD || WORD</answer>"
    )
    assert info == {
        "success": False,
        "score": 0.0,
        "format_is_valid": False,
        "action_is_valid": False,
        "action_is_effective": False,
        "answer_is_example": False,
        "legal_actions": ACTIONS,
        "turn": 0,
        "actions_left": 10,
        "instance": "abc",
        "index": 3,
        "ceiling": 1.0,
    }


@pytest.mark.parametrize(
    ("answer", "told", "reward", "flags"),
    [
        # flags: format_is_valid, action_is_valid, action_is_effective, answer_is_example
        ("Up", "Done: Up. Reward: 0.01. Left: 4 turns, 9 actions.", 0.01, (1, 1, 1, 0)),
        ("stay", "Done: Stay. Reward: -0.1. Left: 4 turns, 9 actions.", -0.1, (1, 1, 0, 0)),
        (
            "Up || fly || Up",
            "Done: Up, Up. What is not an action was skipped. Reward: -0.08. "
            "Left: 4 turns, 8 actions.",
            -0.08,
            (1, 0, 1, 0),
        ),
        (
            "fly || swim",
            "Done: nothing. What is not an action was skipped. Reward: -0.1. "
            "Left: 4 turns, 10 actions.",
            -0.1,
            (1, 0, 0, 0),
        ),
        (
            "Stay || Stay || Stay || Stay || Stay || Stay || Up",
            "Done: Stay, Stay, Stay, Stay, Stay. The last 2 not run. Reward: -0.5. "
            "Left: 4 turns, 5 actions.",
            -0.5,
            (1, 1, 0, 0),
        ),
        (
            "Up || Win || Up || Up",
            "Done: Up, Win. The last 2 not run. Reward: 1.01. Left: 4 turns, 8 actions.",
            1.01,
            (1, 1, 1, 0),
        ),
        (
            "WORD || WORD",
            "Done: nothing. What is not an action was skipped. Reward: -0.1. "
            "Left: 4 turns, 10 actions.",
            -0.1,
            (1, 0, 0, 1),
        ),
    ],
)
def test_one_turn(answer, told, reward, flags):
    env = count()
    env.reset(seed=0)
    observation, got, _, _, info = env.step(answer)
    assert observation == f"{told}\n№ {env.number}"
    assert got == reward
    names = ("format_is_valid", "action_is_valid", "action_is_effective", "answer_is_example")
    assert tuple(info[name] for name in names) == flags


@pytest.mark.parametrize("answer", ["", "Up", "<answer>Up</answer>", "<think></think><answer>Up"])
def test_a_broken_form_costs_the_penalty_and_does_nothing(answer):
    env = count("think")
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(answer)
    assert observation == (
        "The answer was not in the required form, so nothing was done. Reward: -0.1. "
        f"Left: 4 turns, 10 actions.\n№ {env.number}"
    )
    assert (reward, terminated, truncated) == (-0.1, False, False)
    assert (info["format_is_valid"], info["action_is_valid"]) == (False, False)


answers = st.lists(
    st.lists(st.sampled_from([*ACTIONS[:2], "up", "fly", "", "Up", "Stay", "Win", "Lose"])).map(
        " || ".join
    )
    | st.just("WORD || WORD"),
    max_size=8,
)


@given(
    answers,
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 9),
    st.integers(0, 50),
    st.sampled_from(RESPONSE_FORMATS),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_accounts_agree_with_a_reference(
    texts, turns, per_turn, actions, penalty, response_format, breaks
):
    env = count(
        response_format,
        max_turns=turns,
        max_actions_per_turn=per_turn,
        max_actions=actions,
        penalty=penalty,
    )
    env.reset(seed=1)
    number, left, turn = env.number, actions, 0
    for text, broken in zip(texts, breaks, strict=False):
        broken = broken and response_format != "plain"
        words = [word.strip().capitalize() for word in text.split("||")]
        known = [] if broken else [word for word in words if word in ACTIONS]
        run = known[: min(per_turn, left)]
        ends = [i for i, word in enumerate(run) if word in ("Win", "Lose")]
        run = run[: ends[0] + 1] if ends else run
        valid = not broken and len(known) == len(words)
        points = sum(POINTS[word] for word in run) - (0 if valid else penalty)
        turn, left, number = turn + 1, left - len(run), number + run.count("Up")
        over = bool(ends)
        spent = not over and (turn == turns or left == 0)

        answer = "no tags" if broken else format_answer([text], response_format, "hm")
        observation, reward, terminated, truncated, info = env.step(answer)
        assert reward == points / 100
        assert (terminated, truncated) == (over, spent)
        assert observation.split("\n")[1] == f"№ {number}"
        assert info["turn"] == turn
        assert info["actions_left"] == left
        assert info["format_is_valid"] == (not broken)
        assert info["action_is_valid"] == valid
        assert info["action_is_effective"] == ("Up" in run)
        assert info["answer_is_example"] == (not broken and text == "WORD || WORD")
        assert info["success"] == ("Win" in run)
        assert info["score"] == float("Win" in run)
        assert info["legal_actions"] == (() if over or spent else ACTIONS)
        assert env.turns_left == turns - turn
        assert env.actions_this_turn == min(per_turn, left)
        assert observation in env.observation_space
        if over or spent:
            with pytest.raises(ResetNeeded):
                env.step(answer)
            return


def test_the_penalty_is_paid_once_a_turn():
    env = count(penalty=7)
    env.reset(seed=0)
    assert env.step("fly || fly || fly || Up || swim")[1] == -0.06
    assert env.step("Up")[1] == 0.01
    assert env.step("fly")[1] == -0.07


def test_points_add_up_exactly():
    env = count()
    env.reset(seed=0)
    assert env.step("Stay || Stay || Stay")[1] == -0.3  # not -0.30000000000000004


def test_the_rules_end_and_the_budgets_end():
    def ends(answers, **budget):
        env = count(**budget)
        env.reset(seed=0)
        return [env.step(answer)[2:4] for answer in answers][-1]

    assert ends(["Up"] * 4) == (False, False)
    assert ends(["Up"] * 5) == (False, True)
    assert ends(["fly"] * 5) == (False, True)
    assert ends(["Up || Up || Up || Up || Up"] * 2) == (False, True)
    assert ends(["Up"] * 4 + ["Lose"]) == (True, False)
    assert ends(["Up"] * 4 + ["Win"]) == (True, False)
    assert ends(["Up || Win"], max_actions_per_turn=1) == (False, False)
    assert ends(["Up || Win"], max_actions=1) == (False, True)


def test_step_needs_a_reset_before_and_after():
    env = count()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step("Up")
    env.reset(seed=0)
    env.step("Win")
    with pytest.raises(ResetNeeded):
        env.step("Up")
    env.reset(seed=0)
    assert env.step("Up")[1] == 0.01


@pytest.mark.parametrize("answer", [None, 0, b"Up", ["Up"], np.str_("Up").encode(), 1.5])
def test_an_answer_that_is_no_str_is_a_type_error(answer):
    env = count()
    env.reset(seed=0)
    with pytest.raises(TypeError, match=f"an answer is a str, got {type(answer).__name__}"):
        env.step(answer)
    assert env.step("Up")[4]["turn"] == 1


def test_a_str_of_numpy_is_a_str():
    env = count()
    env.reset(seed=0)
    assert env.step(np.str_("Up"))[1] == 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variant": "Count-v9"}, "variant 'Count-v9' is unknown; choose one of ['Count-v0']"),
        (
            {"split": "dev"},
            "split 'dev' is unknown; choose one of ['train', 'val', 'test', 'sealed']",
        ),
        (
            {"split": None},
            "split None is unknown; choose one of ['train', 'val', 'test', 'sealed']",
        ),
        (
            {"response_format": "json"},
            "response_format 'json' is unknown; choose one of ['think', 'answer', 'plain']",
        ),
        (
            {"render_mode": "human"},
            "render_mode 'human' is unknown; choose one of [None, 'ansi']",
        ),
    ],
)
def test_bad_arguments_name_the_choices(arguments, message):
    with pytest.raises(ValueError, match="is unknown; choose one of") as error:
        CountEnv(**{"variant": "Count-v0", **arguments})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 3}, "unknown reset options ['level']; the only one is 'rollout'"),
        ({"rollout": 1, "b": 1, "a": 2}, "unknown reset options ['a', 'b']; the only one is"),
        ({"rollout": -1}, "the option 'rollout' is an int of at least 0, got -1"),
        ({"rollout": "1"}, "the option 'rollout' is an int of at least 0, got '1'"),
        ({"rollout": 1.0}, "the option 'rollout' is an int of at least 0, got 1.0"),
        ({"rollout": True}, "the option 'rollout' is an int of at least 0, got True"),
        ({"rollout": None}, "the option 'rollout' is an int of at least 0, got None"),
    ],
)
def test_bad_options_say_what_is_possible(options, message):
    with pytest.raises(ValueError, match="rollout") as error:
        count().reset(seed=0, options=options)
    assert str(error.value).startswith(message)


def test_a_negative_seed_is_refused():
    with pytest.raises(gymnasium.error.Error):
        count().reset(seed=-1)


def test_a_rollout_changes_the_noise_and_nothing_else():
    env = count()
    firsts, noises = set(), []
    for rollout in (None, 0, 1, 2, 10**30):
        options = None if rollout is None else {"rollout": rollout}
        firsts.add(env.reset(seed=5, options=options)[0])
        noises.append(env.noise)
    assert len(firsts) == 1
    assert noises[0] == noises[1]
    assert len(set(noises)) == 4
    assert env.reset(seed=5, options={})[0] in firsts
    assert env.noise == noises[0]


def test_without_a_seed_the_next_instance_comes_from_np_random():
    def indices(env):
        first = [env.reset(seed=7)[1]["index"]]
        return first + [env.reset()[1]["index"] for _ in range(5)]

    assert indices(count()) == indices(count())
    assert len(set(indices(count()))) == 6
    env = count()
    env.reset(seed=7)
    noises = set()
    for _ in range(5):
        env.reset()
        noises.add(env.noise)
    assert len(noises) == 5


def test_held_out_instances_of_a_variant_of_your_own_are_refused_plainly():
    for split in SHIPPED_SPLITS:
        env = CountEnv(CountVariant("Mine-v0"), split=split)
        message = f"the split '{split}' is of the suite's own variants; 'Mine-v0' of your own has"
        with pytest.raises(ValueError, match=message):
            env.reset(seed=0)


def test_a_variant_that_keeps_a_name_and_changes_the_rest_is_one_of_your_own():
    shipped = SokobanEnv.variants["Sokoban-v0"]
    tight = dataclasses.replace(shipped, budget=Budget(max_turns=2))
    with pytest.raises(ValueError, match="'Sokoban-v0' of your own has the splits 'train' and"):
        SokobanEnv(tight, split="test").reset(seed=0)
    assert SokobanEnv(tight).reset(seed=0)[1]["optimal_length"] <= 10
    twin = SokobanEnv(dataclasses.replace(shipped), split="test")
    assert twin.reset(seed=3) == SokobanEnv("Sokoban-v0", split="test").reset(seed=3)


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", ["Sokoban-v0", *TWENTY_QUESTIONS])
def test_held_out_seeds_wrap(name, split):
    env, size = make(name, split=split), held_out_size(name)
    assert type(env).held_out_size(name) == size
    firsts = [env.reset(seed=seed) for seed in range(size)]
    assert [info["index"] for _, info in firsts] == list(range(size))
    assert len({info["instance"] for _, info in firsts}) == size
    assert len({observation for observation, _ in firsts}) == (256 if size == 256 else 1)
    for seed in (size, 2 * size - 1, 2 * size, 10**12):
        observation, info = env.reset(seed=seed)
        assert info["index"] == seed % size
        assert (observation, info) == firsts[seed % size]
    for _ in range(20):
        observation, info = env.reset()
        assert (observation, info) == firsts[info["index"]]


def test_train_seeds_do_not_wrap():
    env = SokobanEnv("Sokoban-v0")
    assert env.reset(seed=256)[1]["index"] == 256
    assert env.reset(seed=256)[1]["instance"] != env.reset(seed=0)[1]["instance"]


def test_a_changed_info_changes_no_later_one():
    env, other = count(), count()
    _, info = env.reset(seed=0)
    other.reset(seed=0)
    for answer in ("Up", "fly", "Stay"):
        info.clear()
        info["instance"] = info["ceiling"] = "mine"
        info = env.step(answer)[4]
        assert info == other.step(answer)[4]
    assert env.reset(seed=0)[1] == other.reset(seed=0)[1]


def test_np_random_is_that_of_gymnasium():
    env = count()
    env.reset(seed=11)
    assert env.np_random_seed == 11
    expected = gymnasium.utils.seeding.np_random(11)[0]
    assert env.np_random.integers(1 << 62, size=5).tolist() == (
        expected.integers(1 << 62, size=5).tolist()
    )
    # A seed starts it afresh, no seed goes on with it, and one from outside is used.
    env.reset(seed=11)
    expected = gymnasium.utils.seeding.np_random(11)[0]
    for _ in range(3):
        index, rollout = (int(expected.integers(1 << 62)) for _ in range(2))
        assert env.reset()[1]["index"] == index
        noise = env.noise
        env._index, env._rollout = index, rollout
        assert env._dynamics().word() == noise
    env.np_random = np.random.default_rng(5)
    assert env.reset()[1]["index"] == int(np.random.default_rng(5).integers(1 << 62))
    assert env.np_random_seed == -1


def test_an_environment_that_was_never_seeded_is_seeded_by_the_system():
    assert count().reset()[1]["index"] != count().reset()[1]["index"]


def test_long_answers_are_not_kept():
    env = count()
    env.reset(seed=0)
    env.step("Up")
    tracemalloc.start()
    try:
        for n in range(20):
            env.reset(seed=0)
            env.step("Up || " * (50_000 + n) + "Stay")
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000


def test_rendering():
    env = CountEnv("Count-v0", render_mode="ansi")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before render\(\)"):
        env.render()
    env.reset(seed=0)
    assert env.render() == f"№ {env.number}"
    assert count().render() is None


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_continues_alike_and_apart(copied):
    env = count()
    env.reset(seed=1)
    env.step("Up")
    twin = copied(env)
    assert twin.step("Up || Stay") == env.step("Up || Stay")
    twin.step("Up")
    assert twin.number == env.number + 1
    assert twin.turns_left == env.turns_left - 1
    assert twin.reset() == env.reset()


def test_closing_twice_is_fine():
    env = count()
    env.close()
    env.close()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seed": True}, ValueError, "a seed is an int of at least 0, got True"),
        ({"seed": False}, ValueError, "a seed is an int of at least 0, got False"),
        ({"seed": -1}, gymnasium.error.Error, "a seed is an int of at least 0, got -1"),
        ({"seed": 1.0}, gymnasium.error.Error, "a seed is an int of at least 0, got 1.0"),
        ({"seed": "3"}, gymnasium.error.Error, "a seed is an int of at least 0, got '3'"),
        ({"seed": 3, "options": {"rollout": -1}}, ValueError, "int of at least 0, got -1"),
        ({"seed": 3, "options": {"rollout": True}}, ValueError, "int of at least 0, got True"),
        ({"seed": 3, "options": "rollout"}, TypeError, "are a dictionary, got 'rollout'"),
        ({"seed": 3, "options": []}, TypeError, r"are a dictionary, got \[\]"),
    ],
)
def test_a_refused_reset_changes_nothing(arguments, error, message):
    env, twin = count(), count()
    env.reset(seed=1)
    twin.reset(seed=1)
    with pytest.raises(error, match=message):
        env.reset(**arguments)
    assert env.step("Up") == twin.step("Up")
    assert env.reset() == twin.reset()


def test_numpys_ints_will_do():
    for number in (np.int64(5), np.uint8(5)):
        given = count().reset(seed=number, options={"rollout": number})
        assert given == count().reset(seed=5, options={"rollout": 5})
        assert type(given[1]["index"]) is int
    assert count().reset(seed=5, options={}) == count().reset(seed=5)


words = st.text(st.characters(codec="ascii", exclude_characters="<>[]|"), max_size=30)
named = st.integers(0, 200) | words | words.map("search[{}]".format)
turns = st.lists(st.tuples(st.lists(named, max_size=6), words, st.booleans()), max_size=16)


@given(st.sampled_from(IDS), st.sampled_from(RESPONSE_FORMATS), st.integers(0, 255), turns)
@settings(deadline=None)
def test_what_is_read_is_what_step_then_does(id_, form, seed, turns):
    env, twin = (make(id_, split="val", response_format=form) for _ in range(2))
    env.reset(seed=seed)
    twin.reset(seed=seed)
    for named, thought, bare in turns:
        legal, may, left = env.legal_actions, env.actions_this_turn, env.actions_left
        names = [legal[n % len(legal)] if isinstance(n, int) else n for n in named]
        answer = " || ".join(names) if bare else format_answer(names, form, thought)
        parsed, known = env.read(answer)
        env.read("search[something else] || no action")
        told, _, terminated, truncated, info = stepped = env.step(answer)
        assert stepped == twin.step(answer)  # which has read nothing before
        assert info["format_is_valid"] == parsed.format_valid == (form == "plain" or not bare)
        assert info["action_is_valid"] == parsed.actions_valid
        assert info["answer_is_example"] == parsed.is_example
        assert len(known) == len(parsed.actions)
        ran = left - info["actions_left"]
        assert ran == min(len(known), may) or (terminated and ran < may)
        if parsed.format_valid:
            did = ", ".join(known[:ran]) or "nothing"
            assert told.startswith(f"Done: {did}{'' if did[-1] in '.?!' else '.'} ")
        else:
            assert known == ()
        if terminated or truncated:
            return


@pytest.mark.parametrize("id_", IDS)
def test_nothing_is_read_outside_an_episode(id_):
    env = make(id_, response_format="plain")
    for _ in range(2):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            env.read("Up")
        assert env.free_text is None
        env.reset(seed=0)
        nothing = "" if id_.partition("/")[2] in TWENTY_QUESTIONS else "no action"
        assert env.read(nothing)[1] == ()
        while not any(env.step("no action")[2:4]):
            pass


@pytest.mark.parametrize("id_", IDS)
def test_words_of_ones_own_are_questions_or_answers_of_the_search_page_alone(id_):
    env = make(id_, split="test", response_format="plain")
    env.reset(seed=0)
    if id_.partition("/")[2] in TWENTY_QUESTIONS:
        for _ in range(20):
            assert env.free_text == FreeText("", "", 200)
            env.step("lamp")
        assert env.free_text is None
        return
    if id_.partition("/")[2] not in WEBSHOP:
        assert env.free_text is None
        return
    assert env.free_text == FreeText("search[", "]", 300)
    env.step("search[lamp]")
    assert env.free_text is None
    assert env.read("search[lamp]")[1] == ()
    env.step("click[back to search]")
    assert env.free_text == FreeText("search[", "]", 300)


@given(st.sampled_from(WEBSHOP), st.sampled_from(RESPONSE_FORMATS), st.data())
@settings(deadline=None)
def test_a_search_in_words_of_ones_own_is_one_named_action(id_, form, data):
    env = make(id_, split="test", response_format=form)
    env.reset(seed=0)
    before, after, longest = env.free_text
    printable = st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="]<|")
    said = data.draw(st.text(printable, min_size=1, max_size=longest).filter(str.strip))
    parsed, [name] = env.read(format_answer([f"{before}{said}{after}"], form))
    assert parsed[:1] + parsed[2:] == (True, True, False)
    assert name == f"{before}{' '.join(said.lower().split())}{after}"
    told, *_, info = env.step(format_answer([name], form))
    assert told.startswith(f"Done: {name}.")
    assert info["action_is_valid"]
    assert env.page.kind == "results"
