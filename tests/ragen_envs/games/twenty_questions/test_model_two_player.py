"""Twenty Questions as a game for two, of any variant of the game."""

import pytest

from ragen_envs.core.two_player import TwoPlayerEnv
from ragen_envs.games.twenty_questions.model import TwoPlayerQuestionsEnv
from tests.ragen_envs.games.twenty_questions.answerers import reply_to
from tests.ragen_envs.support import make


def begun(seed=0):
    env = TwoPlayerQuestionsEnv("TwentyQuestions-v0", "test", "plain")
    env.reset(seed=seed)
    return env


def test_a_reply_answers_its_own_question_alone():
    env = begun()
    reply_to(env, "Is it alive?", "Sometimes")
    reply_to(env, "Is it a comb?", "Yes")  # a guess, which the game decides
    reply_to(env, "Can it fly?", None)
    assert [asked.reply for asked in env.asked] == ["Sometimes", "No", None]
    reply_to(env, "Is it red?", "Yes")
    env.reset(seed=1)
    reply_to(env, "Is it red?", None)
    assert [asked.reply for asked in env.asked] == [None]


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Is it  alive?", ("Is it alive?", "Yes")),
        ("Can it fly?", ("Can it fly?", "No")),
        ("Quux blorp?", ("Quux blorp?", None)),
        ("Is it a comb?", None),
        ("Is it a birch tree?", None),
        ("QUESTION", None),
        ("  ", None),
    ],
)
def test_the_question_in_an_answer(answer, question):
    env = begun()
    asked = env.opponent_reads(answer)
    assert (env.seat.question if asked else asked) == question
    assert env.asked == ()


def test_what_is_recorded_of_a_reply_and_how_it_is_reported():
    env = begun()
    with pytest.raises(ValueError, match="nobody has replied yet"):
        _ = env.reply_record
    silent = "nothing: it does not understand the question"
    rephrase = "I cannot tell, please rephrase"
    for question, reply, record, figures, remarks in (
        ("Is it alive?", "Yes", ("Yes", "Yes", True, True), ("Yes", "Yes", "yes"), ()),
        ("Can it fly?", "Yes", ("No", "Yes", True, False), ("Yes", "No", "no"), ("wrong",)),
        ("Is it red?", rephrase, ("No", None, True, False), (rephrase, "No", "no"), ()),
        ("Quux?", "Yes", (None, "Yes", True, None), ("Yes", silent, "not judged"), ()),
        (
            "Is it big?",
            "Hm",
            ("Yes", None, False, False),
            ("not readable", "Yes", "no"),
            ("not readable",),
        ),
    ):
        env.step_with(question, reply)
        assert env.reply_record == dict(
            zip(("rule", "read", "readable", "agrees"), record, strict=True)
        )
        report = env.report_reply(env.reply_record)
        assert [text for _, text in report.figures] == [*figures]
        assert report.remarks == remarks
        env.step_with("Is it a comb?", None)
        assert env.reply_record["rule"] == record[0]  # a guess asks nobody
    env.reset(seed=0)
    with pytest.raises(ValueError, match="nobody has replied yet"):
        _ = env.reply_record


def test_every_count_is_in_info_and_parts_name_what_they_are_part_of():
    _, info = begun().reset(seed=0)
    counts = TwoPlayerQuestionsEnv.reply_counts
    names = [count.name for count in counts]
    assert names == ["judged", "agreed", "wrong", "unreadable"]
    assert all(info[name] == 0.0 for name in names)
    assert [count.part_of for count in counts] == [None, "judged", "judged", None]


def test_it_is_a_game_for_two_and_the_game_for_one_is_none():
    assert isinstance(begun(), TwoPlayerEnv)
    assert not isinstance(make("TwentyQuestions-v0"), TwoPlayerEnv)
