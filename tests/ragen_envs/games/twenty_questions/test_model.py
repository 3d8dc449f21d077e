"""The game against a model, as a harness steps it."""

import re
from dataclasses import replace

import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st

import ragen_envs
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS, format_answer
from ragen_envs.games.twenty_questions.forms import Guess, questions, say
from ragen_envs.games.twenty_questions.forms import answer as rule
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.model import OpponentEnv
from ragen_envs.games.twenty_questions.text import REPHRASE
from ragen_envs.games.twenty_questions.understanding import understand
from ragen_envs.registration import IDS, load_harness_class
from tests.ragen_envs.support import make

NAME = "TwentyQuestionsModel-v0"
KNOWLEDGE = load()
STANDARD = [say(form, KNOWLEDGE) for form in questions(KNOWLEDGE)]
GUESSES = [say(Guess(name), KNOWLEDGE) for name in KNOWLEDGE.concepts]
HOSTILE = st.text(st.characters(exclude_categories=()), max_size=60) | st.sampled_from(
    ["", "QUESTION", "Quux blorp", "</answer>", "x" * 5000, "is it \ud800?", "{secret} %s"]
)
asked = st.sampled_from(STANDARD) | st.sampled_from(GUESSES) | HOSTILE
games = st.fixed_dictionaries(
    {
        "split": st.sampled_from(["train", "val", "test"]),
        "response_format": st.sampled_from(RESPONSE_FORMATS),
    }
)
OF_REPLIES = ("judged", "agreed", "wrong", "unreadable")
READ_AS = {
    "Yes": "Yes", "no.": "No", "The answer is sometimes": "Sometimes", "Yes, it is.": "Yes",
    REPHRASE: None, "Please rephrase": None, "No, it is.": "?", "Maybe": "?", "": "?", "REPLY": "?",
}  # fmt: skip
"""Replies, and what is read in them: "?" for nothing. "Yes, it is." is of positive questions."""


def begun(seed=0, **options):
    env = OpponentEnv(NAME, **{"split": "test", "response_format": "plain", **options})
    env.reset(seed=seed)
    return env


def by_the_rule(env, answer):
    """Run a turn in which the seat's oracle replies."""
    asked = env.opponent_reads(answer)
    return env.step_with(answer, None if asked is None else oracle_answer(env.seat))


def without_replies(said):
    *rest, info = said
    return (*rest, {key: value for key, value in info.items() if key not in OF_REPLIES})


@settings(max_examples=30)
@given(
    game=games,
    answerer_format=st.sampled_from([None, *RESPONSE_FORMATS]),
    seed=st.integers(0, 70),
    answers=st.lists(asked, min_size=20, max_size=20),
    wrap=st.booleans(),
    solver_from=st.integers(0, 25),
)
def test_with_the_rule_it_is_the_game_with_the_rule(
    game, answerer_format, seed, answers, wrap, solver_from
):
    env = OpponentEnv(NAME, **game, opponent_format=answerer_format)
    single = make("TwentyQuestions-v0", **game)
    assert without_replies(env.reset(seed=seed)) == single.reset(seed=seed)
    for turn, said in enumerate(answers):
        answer = format_answer([said], game["response_format"]) if wrap else said
        if turn >= solver_from:
            answer = oracle_answer(single)
            assert oracle_answer(env) == answer
        told = by_the_rule(env, answer)
        assert without_replies(told) == single.step(answer)
        info = told[-1]
        assert (
            info["judged"]
            == info["agreed"]
            == info["questions"]
            - info["unparsed"]
            - sum(isinstance(one.form, Guess) for one in env.asked)
        )
        assert info["wrong"] == info["unreadable"] == 0
        if not env.legal_actions:
            break


@settings(max_examples=25)
@given(
    seed=st.integers(0, 59),
    answers=st.lists(asked, min_size=20, max_size=20),
    replies=st.lists(st.sampled_from([*READ_AS]), min_size=20, max_size=20),
    answerer_format=st.sampled_from(RESPONSE_FORMATS),
    broken=st.sets(st.integers(0, 19)),
)
def test_replies_are_counted_against_the_rule(seed, answers, replies, answerer_format, broken):
    env = begun(seed, opponent_format=answerer_format)
    concept = KNOWLEDGE.concepts[env.secret]
    count = dict.fromkeys(OF_REPLIES, 0)
    for turn, (answer, reply) in enumerate(zip(answers, replies, strict=True)):
        said = format_answer([reply], answerer_format)
        out_of_form = turn in broken and answerer_format != "plain"
        if out_of_form:
            said = said.removesuffix(">")
        if env.opponent_reads(answer) is None:
            *_, info = env.step_with(answer, None)
        else:
            form = understand(env.seat.question.text, KNOWLEDGE)
            true = None if form is None else rule(form, concept, KNOWLEDGE)
            text = env.seat.question.text
            *_, info = env.step_with(answer, said)
            read = "?" if out_of_form else READ_AS[reply]
            if " it is" in reply and (text not in STANDARD or " not " in text):
                read = env.asked[-1].reply or "?"  # a sentence may not fit the question
            answered = None if read == "?" else read
            assert env.asked[-1].reply == answered
            count["unreadable"] += read == "?"
            count["judged"] += true is not None
            count["agreed"] += true is not None and answered == true
            count["wrong"] += None not in (true, answered) and answered != true
            latest = env.tally
            assert (latest.rule, latest.answer) == (true, answered)
            assert latest.agrees == (None if true is None else answered == true)
        assert {key: info[key] for key in OF_REPLIES} == count
        assert all(type(info[key]) is float for key in OF_REPLIES)
        assert {key: getattr(env.tally, key) for key in OF_REPLIES} == count
        if not env.legal_actions:
            break
    assert env.reset(seed=seed)[1]["judged"] == env.tally.judged == 0
    assert env.tally.rule is None


def test_the_opponent_reads_its_question_and_the_episode_stays():
    env = begun(opponent_format="answer")
    by_the_rule(env, "Is it alive?")
    text = env.opponent_reads("Can it fly?")
    assert text == env.opponent_reads("Can it fly?") == env.seat.text
    assert text.endswith(
        "\n\nThe word is a birch tree.\n1. Is it alive? Yes\nQuestion 2: Can it fly?\n\n"
        "Answer in exactly this form:\n<answer>REPLY</answer>"
    )
    assert env.opponent_reads("Is it red?") != text
    assert env.seat.question == ("Is it red?", "No")
    assert len(env.asked) == 1
    assert env.turns_left == 19
    env.step_with("Can it fly?", "<answer>Yes</answer>")
    assert "2. Can it fly? Yes\n" in env.opponent_reads("Can it fly?")


def test_there_is_a_seat_while_a_question_waits():
    env = begun()

    def no_seat():
        with pytest.raises(ValueError, match=r"no question waits .*opponent_reads\(answer\) first"):
            _ = env.seat

    no_seat()
    env.opponent_reads("Is it alive?")
    assert env.seat.question.text == "Is it alive?"
    env.opponent_reads("Is it a comb?")
    no_seat()
    env.opponent_reads("Is it alive?")
    env.step_with("Is it alive?", "Yes")
    no_seat()
    env.opponent_reads("Is it alive?")
    env.reset(seed=1)
    no_seat()


@pytest.mark.parametrize(
    ("answer", "said", "error", "words"),
    [
        ("Is it alive?", None, ValueError, "the opponent is asked 'Is it alive?', so its text"),
        ("Is it a comb?", "No", ValueError, "the opponent is not asked by this answer"),
        ("", "", ValueError, "the opponent is not asked by this answer"),
        ("Is it alive?", 1, TypeError, "the opponent's text is a str or None, got int"),
        ("Is it a comb?", ["No"], TypeError, "the opponent's text is a str or None, got list"),
        (None, "Yes", TypeError, "an answer is a str, got NoneType"),
    ],
)
def test_a_wrong_call_changes_nothing(answer, said, error, words):
    env, other = begun(), begun()
    with pytest.raises(error, match=f"^{re.escape(words)}[^\n]*$"):
        env.step_with(answer, said)
    assert env.tally == other.tally
    assert by_the_rule(env, "Is it red?") == by_the_rule(other, "Is it red?")


def test_errors_of_the_order():
    env = begun()
    with pytest.raises(TypeError, match=r"OpponentEnv takes no bare step.* step_with\(answer, re"):
        env.step("Is it alive?")
    assert env.turns_left == 20
    env.step_with("Is it a birch tree?", None)
    for call in (env.opponent_reads, lambda answer: env.step_with(answer, "Yes")):
        with pytest.raises(ResetNeeded):
            call("Is it alive?")
    with pytest.raises(ResetNeeded):
        OpponentEnv(NAME).opponent_reads("Is it alive?")
    with pytest.raises(TypeError, match="an answer is a str, got int"):
        begun().opponent_reads(3)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"opponent_format": "xml"}, r"opponent_format 'xml' is unknown; choose one of \['think'"),
        ({"split": "sealed"}, f"{NAME} has no split 'sealed'"),
        ({"variant": "TwentyQuestions-v0"}, "variant 'TwentyQuestions-v0' is unknown; choose one"),
    ],
)
def test_unknown_arguments_are_refused(option, words):
    with pytest.raises(ValueError, match=words):
        OpponentEnv(**{"variant": NAME, **option})


def test_it_plays_the_words_of_the_game_with_the_rule_under_a_name_of_its_own():
    for split in ("train", "val", "test"):
        env, single = OpponentEnv(NAME, split), make("TwentyQuestions-v0", split=split)
        words = [env.get_instance(seed) for seed in range(64)]
        assert words == [single.get_instance(seed) for seed in range(64)]
        assert len(set(words)) > 40
    assert env.held_out_size(NAME) == 60
    assert env.variant.name == NAME
    assert replace(env.variant, name="TwentyQuestions-v0") == single.variant
    own = OpponentEnv(replace(env.variant, name="Mine"))
    suites = OpponentEnv(NAME)
    assert any(own.get_instance(seed) != suites.get_instance(seed) for seed in range(64))


def test_it_is_in_no_table_with_the_rule():
    assert list(ragen_envs.OPPONENT_IDS) == [f"ragen/{NAME}"]
    assert f"ragen/{NAME}" not in IDS
    assert load_harness_class(f"ragen/{NAME}") is OpponentEnv
