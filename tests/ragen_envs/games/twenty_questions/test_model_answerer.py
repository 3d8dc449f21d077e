"""The seat of the one who answers."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS, format_answer
from ragen_envs.games.twenty_questions.forms import answer as rule
from ragen_envs.games.twenty_questions.forms import questions, say
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.model import TwoPlayerQuestionsEnv
from ragen_envs.games.twenty_questions.text import REPHRASE
from tests.cases import examples
from tests.ragen_envs.games.twenty_questions.answerers import reply_to
from tests.ragen_envs.support import chi_square, rare

KNOWLEDGE = load()
FORMS = questions(KNOWLEDGE)
texts = st.text(st.characters(exclude_categories=()), max_size=60)
formats = st.sampled_from(RESPONSE_FORMATS)


def seat(question="Is it alive?", form="plain", seed=0, before=()):
    env = TwoPlayerQuestionsEnv("TwentyQuestions-v0", "test", "plain", opponent_format=form)
    env.reset(seed=seed)
    for asked, reply in before:
        reply_to(env, asked, reply)
    assert env.opponent_reads(question) == env.seat.text
    return env.seat


@pytest.mark.parametrize(
    ("form", "ending"),
    [
        ("plain", "Answer in exactly this form:\nREPLY"),
        ("answer", "Answer in exactly this form:\n<answer>REPLY</answer>"),
        (
            "think",
            "First reason, then answer in exactly this form:\n"
            "<think>REASONING</think><answer>REPLY</answer>",
        ),
    ],
)
def test_the_text_of_every_question_is_complete(form, ending):
    before = [("Is it alive?", "Yes"), ("no form of a question", None), ("Is it a comb?", None)]
    task, state, how = seat("Can it\n fly?", form, before=before).text.split("\n\n")
    assert task.splitlines()[0].startswith("You answer in a game of Twenty Questions: you know")
    assert task == seat().text.split("\n\n")[0]
    assert state == (
        "The word is a birch tree.\n1. Is it alive? Yes\n"
        f"2. no form of a question: {REPHRASE}\n3. Is it a comb? No\nQuestion 4: Can it fly?"
    )
    assert how == ending


@settings(max_examples=examples(40))
@given(st.sampled_from(FORMS), st.integers(0, 59), formats)
def test_the_oracle_replies_as_the_rule(form, seed, response_format):
    one = seat(say(form, KNOWLEDGE), response_format, seed)
    true = rule(form, KNOWLEDGE.concepts[one.word], KNOWLEDGE)
    assert one.best_actions() == (true or REPHRASE,)
    assert oracle_answer(one) == format_answer([true or REPHRASE], response_format)
    assert one.read(oracle_answer(one)) == ((true, True), True, False)


@pytest.mark.parametrize("form", RESPONSE_FORMATS)
def test_the_oracle_cannot_tell_what_the_rule_does_not_understand(form):
    one = seat("Quux blorp?", form)
    assert one.best_actions() == (REPHRASE,)
    assert one.read(oracle_answer(one)) == ((None, True), True, False)


@pytest.mark.parametrize("form", RESPONSE_FORMATS)
def test_the_random_player_picks_one_of_the_replies_evenly(form):
    one, stream = seat(form=form), RandomStream("replies", form)
    legal = ("Yes", "Sometimes", "No", REPHRASE)
    assert one.legal_actions == legal
    assert (one.actions_this_turn, one.free_text) == (1, None)
    counts = dict.fromkeys((format_answer([reply], form) for reply in legal), 0)
    for _ in range(2000):
        counts[random_answer(one, stream)] += 1
    assert chi_square([*counts.values()], [1] * 4) < rare(3)


@pytest.mark.parametrize(
    ("said", "form", "reply", "valid", "example"),
    [
        ("yes.", "plain", ("Yes", True), True, False),
        ("No, a birch tree is not alive.", "plain", ("No", True), True, False),
        ("No, a comb is not alive.", "plain", (None, False), True, False),
        ("The answer is: Sometimes", "plain", ("Sometimes", True), True, False),
        ("cannot tell", "plain", (None, True), True, False),
        (" reply ", "plain", (None, False), True, True),
        ("<answer>Yes</answer>", "answer", ("Yes", True), True, False),
        ("<answer>REPLY</answer>", "answer", (None, False), True, True),
        ("<answer>REPLY</answer>", "think", (None, False), False, False),
        ("Yes", "think", (None, False), False, False),
        ("<think>Hm, no.</think> <answer>yes</answer>", "think", ("Yes", True), True, False),
        ("<think>Yes</think><answer></answer>", "think", (None, False), True, False),
    ],
)
def test_what_is_read(said, form, reply, valid, example):
    assert seat(form=form).read(said) == (reply, valid, example)


@settings(max_examples=examples(100))
@given(texts, formats, st.booleans())
def test_any_text_is_read_or_not_without_an_error(said, form, wrapped):
    heard = seat(form=form).read(format_answer([said], form) if wrapped else said)
    assert heard.format_is_valid or not (heard.reply.readable or heard.is_example)
    assert not (heard.reply.readable and heard.is_example)
    assert heard.reply.readable or heard.reply.answer is None
    if wrapped and "<" not in said:
        assert heard.format_is_valid


def test_a_seat_stays_as_it_was_when_the_game_goes_on():
    env = TwoPlayerQuestionsEnv("TwentyQuestions-v0", "test", "plain")
    env.reset(seed=0)
    text = env.opponent_reads("Is it alive?")
    one = env.seat
    env.step_with("Is it alive?", "No")
    env.reset(seed=1)
    assert one.text == text
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.word = "comb"
