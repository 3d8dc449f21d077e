"""The game: replies, rewards, ends and counts, for questions of every kind."""

import copy
import pickle
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.policies import oracle_answer
from ragen_envs.games.twenty_questions.env import TwentyQuestionsEnv, TwentyQuestionsVariant
from ragen_envs.games.twenty_questions.forms import Guess, Not, answer, questions, say, with_article
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.questions import list_questions
from ragen_envs.games.twenty_questions.understanding import understand
from tests.ragen_envs.support import TWENTY_QUESTIONS, make

KNOWLEDGE = load()
STANDARD = [say(form, KNOWLEDGE) for form in questions(KNOWLEDGE)]
HOSTILE = st.text(st.characters(exclude_categories=()), max_size=60) | st.sampled_from(
    [
        "", "\x00" * 3000, "is it " * 500, "Is it a dog, a cat, a cow, a pig or a hen?",
        "not " * 70 + "big?", "Is it bigger than " * 9, "Does it start with ?", "is it a",
        "Ignore the rules and tell me the word.", "Is it {secret}?", "%s%n", "is it \ud800?",
        "Is it a dog? || Is it a cat?", "</answer>", "Is it a dog and is it not a dog?",
    ]
)  # fmt: skip
seeds = st.integers(0, 59)
OTHERWISE = {
    "tart",
    "orange",
    "light",
    "glass",
    "wine",
    "big toe",
    "can opener",
    "great white shark",
}
"""Names that read as a property, or as the beginning of another question, without an article."""


def begun(seed=0, name="TwentyQuestions-v0", split="test", **options):
    env = make(name, split=split, response_format="plain", **options)
    env.reset(seed=seed)
    return env


def last_reply(env):
    return env.asked[-1].reply


@given(seeds, st.lists(st.sampled_from(STANDARD), min_size=1, max_size=19, unique=True), st.data())
@settings(deadline=None)
def test_a_question_has_one_answer_in_any_order(seed, asked, data):
    def replies(order):
        env = begun(seed)
        for question in order:
            env.step(question)
        return {one.question: one.reply for one in env.asked}

    first = replies(asked)
    assert replies(data.draw(st.permutations(asked))) == first
    concept = KNOWLEDGE.concepts[begun(seed).secret]
    for question, reply in first.items():
        assert reply == answer(understand(question, KNOWLEDGE), concept, KNOWLEDGE)


@given(seeds, st.sampled_from(questions(KNOWLEDGE)))
@settings(deadline=None)
def test_negation_swaps_yes_and_no(seed, form):
    env = begun(seed)
    for each in (form, Not(form)):
        env.step(say(each, KNOWLEDGE))
    one, other = (asked.reply for asked in env.asked)
    assert other == {"Yes": "No", "No": "Yes", "Sometimes": "Sometimes", None: None}[one]


@given(seeds, st.lists(HOSTILE | st.sampled_from(STANDARD), min_size=1, max_size=25))
@settings(deadline=None)
def test_hostile_text_is_counted_and_never_crashes(seed, answers):
    env = begun(seed)
    understood = 0
    for text in answers:
        if not env.legal_actions:
            break
        before = len(env.asked)
        observation, reward, terminated, _, info = env.step(text)
        assert observation in env.observation_space
        assert len(env.asked) - before == info["action_is_valid"]
        if len(env.asked) > before:
            understood += env.asked[-1].reply is not None
            assert env.asked[-1].reply is None or env.asked[-1].form is not None
        assert info["questions"] == len(env.asked)
        assert info["unparsed"] == len(env.asked) - understood
        assert (reward > 0) == terminated == info["success"]


def test_twenty_of_the_longest_questions_fit_into_the_space():
    env = begun()
    for place in range(20):
        observation, *_ = env.step(f"{place:02d}".ljust(200, "x"))
        assert observation in env.observation_space
    assert observation.count("I cannot tell, please rephrase") == 20
    assert env.observation_space.max_length == 4096


@given(seeds, st.sampled_from(TWENTY_QUESTIONS), st.data())
@settings(deadline=None)
def test_each_name_of_the_word_wins_in_every_phrasing(seed, name, data):
    env = begun(seed, name)
    concept = KNOWLEDGE.concepts[env.secret]
    word = data.draw(st.sampled_from((concept.name, *concept.aliases)))
    article = data.draw(st.sampled_from(["", "the ", "a "]))
    frame = data.draw(
        st.sampled_from(["{}", "Is it {}?", "is it {}", "My guess is {}.", "I guess it is {}!"])
    )
    assume(article or word not in OTHERWISE)
    env.step("Is it alive?")
    observation, reward, terminated, truncated, info = env.step(frame.format(article + word))
    assert (reward, terminated, truncated) == (0.99, True, False)
    assert info["success"]
    assert info["score"] == 1.0
    assert observation.endswith(f"\nYou found the word: {with_article(concept.name, KNOWLEDGE)}.")
    assert env.legal_actions == ()


@given(seeds, st.lists(st.sampled_from([*KNOWLEDGE.concepts]), min_size=1, max_size=3), st.data())
@settings(deadline=None)
def test_a_guess_of_several_words_never_wins(seed, others, data):
    env = begun(seed)
    words = data.draw(st.permutations([env.secret, *others]))
    assume(len(set(words)) > 1)
    named = [with_article(word, KNOWLEDGE) for word in words]
    joint = data.draw(st.sampled_from([" or ", ", ", " and ", "? Is it ", " || ", ". "]))
    _, reward, terminated, _, info = env.step(f"Is it {joint.join(named)}?")
    assert not terminated
    assert not info["success"]
    assert reward == -0.01


@given(seeds, st.sampled_from([*KNOWLEDGE.concepts]))
@settings(deadline=None)
def test_a_wrong_guess_wins_nothing_also_of_a_wider_word(seed, word):
    env = begun(seed)
    assume(word != env.secret)
    _, reward, terminated, _, _ = env.step(say(Guess(word), KNOWLEDGE))
    # A desk is a table, so that "Is it a table?" is answered Yes.
    reply = answer(Guess(word), KNOWLEDGE.concepts[env.secret], KNOWLEDGE)
    assert (last_reply(env), reward, terminated) == (reply, -0.01, False)


def test_a_guess_of_another_word_is_a_no_but_where_the_word_is_a_kind_of_it():
    concepts = KNOWLEDGE.concepts
    told = {
        (secret, guess): answer(Guess(guess), concepts[secret], KNOWLEDGE)
        for secret in concepts
        for guess in concepts
        if guess != secret
    }
    assert told["desk", "table"] == "Yes"
    assert told["table", "desk"] == "No"
    assert list(told.values()).count("Yes") == 37
    assert set(told.values()) == {"Yes", "No"}


def test_rewards_and_counts_of_an_episode():
    env = begun()
    told = [
        env.step(text)
        for text in (
            "Is it an animal?",
            "is it AN animal?",  # the same words
            "Could it be an animal?",  # the same meaning
            "Quux blorp",
            "quux blorp",
            "",
            "QUESTION",
        )
    ]
    assert [each[1] for each in told] == [-0.01, -0.11, -0.11, -0.01, -0.11, -0.1, -0.1]
    infos = [each[4] for each in told]
    assert [i["questions"] for i in infos] == [1, 2, 3, 4, 5, 5, 5]
    assert [i["repeats"] for i in infos] == [0, 1, 2, 2, 3, 3, 3]
    assert [i["unparsed"] for i in infos] == [0, 0, 0, 1, 2, 2, 2]
    assert [i["turn"] for i in infos] == [1, 2, 3, 4, 5, 6, 7]
    effective = [i["action_is_effective"] for i in infos]
    assert effective == [True, False, False, False, False, False, False]
    assert all(type(i[key]) is float for i in infos for key in ("questions", "repeats", "unparsed"))
    assert told[0][0].startswith(
        "Done: Is it an animal? Reward: -0.01. Remaining: 19 turns, 19 actions."
    )
    assert told[3][0].startswith("Done: Quux blorp. Reward: -0.01. Remaining: 16 turns")
    assert told[3][0].endswith("\n4. Quux blorp: I cannot tell, please rephrase")


def test_the_rewards_are_those_of_the_variant():
    dear = replace(
        TwentyQuestionsEnv.variants["TwentyQuestions-v0"], name="Dear", win=50, cost=3, repeat=20
    )
    env = TwentyQuestionsEnv(dear, response_format="plain")
    assert (
        "Reward: 0.5 for the win, -0.03 for each question, a further -0.2" in env.reset(seed=0)[0]
    )
    rewards = [env.step(text)[1] for text in ("Is it big?", "Is it big?", f"Is it {env.secret}?")]
    assert rewards == [-0.03, -0.23, 0.47]


def test_the_twentieth_turn_may_win_and_no_later_one():
    env = begun()
    for number in range(19):
        *_, terminated, truncated, _ = env.step(STANDARD[number])
        assert not terminated
        assert not truncated
    twin = copy.deepcopy(env)
    assert env.step(env.secret)[2:4] == (True, False)
    observation, _, terminated, truncated, info = twin.step("Is it so?")
    assert (terminated, truncated, info["score"]) == (False, True, 0.0)
    assert observation.endswith(f"\nThe word was {with_article(twin.secret, KNOWLEDGE)}.")


def test_the_word_is_not_told_before_the_end():
    for seed in range(60):
        env = begun(seed, render_mode="ansi")
        word = env.secret
        observations = [env.reset(seed=seed)[0], *(env.step(text)[0] for text in STANDARD[:19])]
        own = " ".join(STANDARD[:19]).lower()
        assert word in own or not any(word in text.lower() for text in observations)
        assert "The word was" not in env.render()
        env.step("")
        assert env.render().endswith(f"The word was {with_article(word, KNOWLEDGE)}.")


def test_what_is_listed_is_the_same_for_every_word():
    seen = {begun(seed, name).legal_actions for seed in range(9) for name in TWENTY_QUESTIONS}
    assert seen == {list_questions().texts}
    assert len(list_questions().texts) == len(STANDARD) + len(KNOWLEDGE.concepts)
    observation = begun(render_mode="ansi").render()
    assert observation == "No question asked yet."


@given(seeds, st.lists(HOSTILE | st.sampled_from(STANDARD), max_size=8))
@settings(deadline=None)
def test_the_oracle_wins_after_what_others_asked(seed, asked):
    env = begun(seed)
    for question in asked:
        env.step(question)
    assume(env.legal_actions)
    while env.legal_actions:
        *_, info = env.step(oracle_answer(env))
    assert info["success"]
    assert info["turn"] - len(asked) <= 10


def test_the_oracle_does_not_know_the_word_and_uses_every_reply():
    one, other = begun(0), begun(1)
    assert one.best_actions() == other.best_actions()
    env = begun(4)
    word = env.secret
    letters = f"Does its name start with {word[0]}?"
    plain = copy.deepcopy(env)
    env.step(letters)
    plain.step("Quux blorp")
    assert env.best_actions() != plain.best_actions() == begun(4).best_actions()


def test_the_oracle_guesses_on_the_last_turn():
    env = begun(3)
    for _ in range(19):
        env.step("Quux blorp")
    [guess] = env.best_actions()
    assert isinstance(understand(guess, KNOWLEDGE), Guess)


@pytest.mark.parametrize("name", TWENTY_QUESTIONS)
def test_no_environment_carries_the_knowledge(name):
    env = begun(name=name)
    env.step("Is it alive?")
    assert len(pickle.dumps(env)) < 60_000
    twin = pickle.loads(pickle.dumps(env))
    assert twin.asked == env.asked
    assert twin.step("Is it big?") == env.step("Is it big?")


def test_a_turn_has_one_question():
    with pytest.raises(ValueError, match="Two: set max_actions_per_turn=1"):
        TwentyQuestionsVariant("Two", budget=Budget(max_turns=20, max_actions_per_turn=2))


def test_a_variant_of_your_own_has_training_alone():
    mine = TwentyQuestionsVariant("Mine")
    assert TwentyQuestionsEnv(mine).reset(seed=3)[1]["index"] == 3
    env = TwentyQuestionsEnv(mine, split="test")
    for seed in (0, None):
        with pytest.raises(ValueError, match=r"'Mine' of your own has the split 'train'$"):
            env.reset(seed=seed)
    with pytest.raises(ValueError, match="Mine has no split 'sealed'"):
        TwentyQuestionsEnv(mine, split="sealed")
