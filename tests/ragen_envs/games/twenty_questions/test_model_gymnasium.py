"""The game against a model, as Gymnasium makes it."""

import copy
import pickle
import warnings
from functools import partial

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS
from ragen_envs.games.twenty_questions.model import ModelEnv, OpponentEnv
from ragen_envs.registration import load_class
from ragen_envs.testing import (
    Subject,
    check_hostile_text,
    check_reset_forgets,
    check_rewards,
    check_text_env,
)
from tests.ragen_envs.games.twenty_questions.answerers import erratic, honest
from tests.ragen_envs.games.twenty_questions.test_model import without_replies
from tests.ragen_envs.support import make

NAME = "TwentyQuestionsModel-v0"
ID = f"ragen_envs:ragen/{NAME}"


def begun(answerer=honest, seed=0, **options):
    env = make(NAME, **{"split": "test", "response_format": "plain", **options}, answerer=answerer)
    env.reset(seed=seed)
    return env


def played(env, answer_of):
    told = []
    while env.legal_actions:
        told.append(env.step(answer_of(env)))
    return told


@pytest.mark.parametrize("form", RESPONSE_FORMATS)
def test_an_honest_answerer_makes_it_the_game_with_the_rule(form):
    env = begun(response_format=form)
    single = make("TwentyQuestions-v0", split="test", response_format=form)
    assert type(env) is ModelEnv is load_class(f"ragen/{NAME}")
    for seed in range(12):
        env.reset(seed=seed)
        single.reset(seed=seed)
        stream, same = RandomStream("asks", seed), RandomStream("asks", seed)
        for _ in range(5):
            told = env.step(random_answer(env, stream))
            assert without_replies(told) == single.step(random_answer(single, same))
        told = played(env, oracle_answer)
        assert [without_replies(each) for each in told] == played(single, oracle_answer)
        assert told[-1][-1]["success"]


@pytest.mark.parametrize("form", RESPONSE_FORMATS)
def test_it_steps_as_one_who_asks_the_answerer_by_hand(form):
    env, byhand = (
        begun(erratic, answerer_format=form),
        OpponentEnv(NAME, "test", "plain", None, form),
    )
    unreadable = 0
    for seed in range(6):
        env.reset(seed=seed)
        byhand.reset(seed=seed)
        stream = RandomStream("asks", seed)
        while env.legal_actions:
            answer = random_answer(env, stream)
            text = byhand.opponent_reads(answer)
            said = None if text is None else erratic(text)
            told = env.step(answer)
            assert told == byhand.step_with(answer, said)
        unreadable += told[-1]["unreadable"]
    assert unreadable > 5


def test_the_answerer_is_asked_once_a_question_and_for_nothing_else():
    read = []

    def answerer(text):
        read.append(text)
        return "No"

    env = begun(answerer)
    for answer in ("Is it alive?", "Is it a comb?", "", "QUESTION", "Quux blorp?"):
        env.step(answer)
    assert [text.splitlines()[-4] for text in read] == [
        "Question 1: Is it alive?",
        "Question 3: Quux blorp?",
    ]
    assert [one.reply for one in env.asked] == ["No", "No", "No"]


@pytest.mark.parametrize("make_it", [gymnasium.make, gymnasium.make_vec])
def test_it_is_not_made_without_an_answerer(make_it):
    with pytest.raises(ValueError, match=rf'^{NAME} needs an answerer.*make\("ragen/{NAME}", answ'):
        make_it(ID)
    with pytest.raises(TypeError, match="answerer must be a function, got str"):
        make_it(ID, answerer="hf/some-model")
    with pytest.raises(ValueError, match=r"answerer_format 'xml' is unknown; choose one of \['thi"):
        make_it(ID, answerer=honest, answerer_format="xml")


def test_an_answerer_that_fails_leaves_the_turn_as_it_was():
    replies = iter([KeyError("gone"), None, b"Yes", "Yes"])

    def fickle(text):
        said = next(replies)
        if isinstance(said, Exception):
            raise said
        return said

    env = begun(fickle)
    with pytest.raises(KeyError, match="gone"):
        env.step("Is it alive?")
    for kind in ("NoneType", "bytes"):
        with pytest.raises(TypeError, match=f"the answerer fickle returned {kind}, not a str"):
            env.step("Is it alive?")
    assert env.tally.judged == 0
    assert env.step("Is it alive?") == begun().step("Is it alive?")


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_check_env_has_nothing_to_say(split):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(NAME, split=split, answerer=honest))
        check_env(begun(erratic, split=split, render_mode="ansi"))


def random_player(env, rng):
    return random_answer(env.unwrapped, RandomStream("test", rng.getrandbits(64)))


def oracle(env):
    return oracle_answer(env.unwrapped)


def subject(answerer, **options):
    made = partial(gymnasium.make, ID, answerer=answerer)
    return Subject(make_env=made, answers=random_player, max_turns=20, seeds=range(2), **options)


@pytest.mark.slow
def test_the_kit_finds_nothing():
    made = partial(gymnasium.make, ID, answerer=honest)
    outcomes = check_text_env(
        subject(
            honest,
            splits={split: partial(made, split=split) for split in ("train", "val", "test")},
            held_out=dict.fromkeys(("val", "test"), 60),
            noise_options=lambda j: {"noise_seed": j},
            oracle=oracle,
        )
    )
    skipped = [outcome.name for outcome in outcomes if outcome.status == "skipped"]
    assert skipped == ["rollouts_differ_in_noise"]


@pytest.mark.parametrize("check", [check_hostile_text, check_reset_forgets, check_rewards])
def test_the_kit_finds_nothing_with_an_answerer_that_errs(check):
    check(subject(erratic))


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_in_mid_episode_continues_alike(copied):
    for seed in range(4):
        env = begun(erratic, seed)
        env.step("Is it alive?")
        env.opponent_reads("Is it red?")
        twin = copied(env)
        ours, theirs = RandomStream("on", seed), RandomStream("on", seed)
        assert twin.step("Is it red?") == env.step("Is it red?")
        assert played(twin, lambda env, stream=theirs: random_answer(env, stream)) == played(
            env, lambda env, stream=ours: random_answer(env, stream)
        )


def test_a_copy_judges_for_itself():
    env = begun()
    env.step("Is it alive?")
    twin = copy.deepcopy(env)
    twin.step("Can it fly?")
    assert (env.tally.judged, twin.tally.judged) == (1, 2)
    env.tally.judged = 7
    assert env.tally.judged == 1


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_vector_of_them_plays_as_each_does_alone(mode):
    options = {"split": "test", "response_format": "plain", "answerer": erratic}
    vector = gymnasium.make_vec(ID, 3, autoreset_mode=mode, **options)
    alone = gymnasium.vector.SyncVectorEnv(
        [partial(gymnasium.make, ID, **options)] * 3,
        autoreset_mode=gymnasium.vector.AutoresetMode(mode),
    )
    assert vector.reset(seed=5)[0] == alone.reset(seed=5)[0]
    streams = [RandomStream("vector", i) for i in range(3)]
    for _ in range(25):
        answers = [
            random_answer(env, stream) if env.legal_actions else ""
            for env, stream in zip(vector.envs, streams, strict=True)
        ]
        ours, theirs = vector.step(answers), alone.step(answers)
        for i in range(4):
            assert list(ours[i]) == list(theirs[i])
        for key in ("judged", "agreed", "wrong", "unreadable", "turn", "success"):
            assert ours[4][key].tolist() == theirs[4][key].tolist()
