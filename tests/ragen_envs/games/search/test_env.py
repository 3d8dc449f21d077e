"""Episodes: texts, rewards, the oracle, and queries of all kinds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.search.env import VARIANTS, SearchVariant, Stand
from ragen_envs.games.search.generator import Generator
from ragen_envs.testing.hostile import HOSTILE
from tests.cases import examples
from tests.ragen_envs.support import make

SONGS = (
    "Page: The Vornholt Songs (book). From the pen of Dastessa Furbubar. It tells the story of "
    "Crinwick Gate. It came off the presses of Freldrin Saltworks."
)


hostile = st.sampled_from(sorted(HOSTILE)).map(HOSTILE.__getitem__) | st.text(max_size=80)


def started(seed=0, form="plain", split="test"):
    """Test 0 asks for the employer of the author of The Vornholt Songs, Grostnesk Glassworks."""
    env = make("Search-v0", split=split, response_format=form, render_mode="ansi")
    env.reset(seed=seed)
    return env


def test_the_variants():
    budget = Budget(max_turns=12, max_actions_per_turn=1, max_actions=12, penalty=10)
    assert {"Search-v0": SearchVariant("Search-v0", Generator(2, 4), budget)} == VARIANTS
    with pytest.raises(ValueError, match="Odd: set max_actions_per_turn=1; a turn has one call"):
        SearchVariant("Odd", budget=Budget(12, 2, 12))
    with pytest.raises(ValueError, match="Long: a question of 6 hops takes up to 13 turns; give"):
        SearchVariant("Long", Generator(2, 6))


def test_the_first_observation_in_full():
    assert make("Search-v0", split="test").reset(seed=0)[0] == (
        "You answer a question with a small encyclopedia of an invented world. The facts that "
        "lead to the answer stand on several pages.\n"
        "Calls: search query=WORDS finds the 5 pages that fit the words best; open result=NUMBER "
        "shows the page of a result of the latest search; answer text=ANSWER answers the question "
        "and ends the episode.\n"
        "The answer is the title of a page, or a year. Case, punctuation and articles do not "
        "matter. Reward: 1 if it is correct, else 0.\n"
        "You have 12 turns with one call each.\n"
        "\n"
        "Question: What is the employer of the author of The Vornholt Songs?\n"
        "Nothing has been searched for.\n"
        "\n"
        "First reason, then answer in exactly this form:\n"
        "<think>REASONING</think><answer>CALL</answer>"
    )


def test_an_episode_in_full():
    env = started()
    assert env.legal_actions == ("search query=the vornholt songs",)
    *_, info = env.step("search query=Vornholt")
    assert (info["searches"], info["found"], info["hops"], info["needed"]) == (1, 0, 2, 2)
    results = (
        "Results: 1. Vornholt; 2. The Vornholt Songs; 3. Yolmoric Tremubar; 4. Quonfell Gate; "
        "5. Clemoric Grostnesk"
    )
    question = "Question: What is the employer of the author of The Vornholt Songs?"
    assert env.render() == f"{question}\n{results}"
    *_, info = env.step("open result=2")
    assert env.render() == f"{question}\n{results}\n{SONGS}"
    assert env.legal_actions == (
        *("search query=the vornholt songs", "search query=dastessa furbubar"),
        *("search query=crinwick gate", "search query=freldrin saltworks"),
        *(f"open result={place}" for place in range(1, 6)),
        *("answer text=dastessa furbubar", "answer text=crinwick gate"),
        "answer text=freldrin saltworks",
    )
    assert info["found"] == 1
    env.step("search query=Dastessa Furbubar")
    assert SONGS not in env.render()
    *_, info = env.step("open result=1")
    assert info["found"] == 2
    observation, reward, terminated, truncated, info = env.step(
        "answer text=The grostnesk-Glassworks!"
    )
    assert observation.endswith(
        "Your answer: the grostnesk-glassworks!. The answer is Grostnesk Glassworks."
    )
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["success"], info["score"], info["searches"]) == (True, 1.0, 2)


@pytest.mark.parametrize(
    "answer", ["Grostnesk", "Glassworks Grostnesk", "Grostnesk Glasswork", "?"]
)
def test_another_answer_ends_the_episode_without_reward(answer):
    observation, reward, terminated, _, info = started().step(f"answer text={answer}")
    assert (reward, terminated, info["success"], info["score"]) == (0.0, True, False, 0.0)
    assert "The answer is Grostnesk Glassworks." in observation


def test_a_result_that_is_not_there_costs_the_turn():
    env = started()
    for text in ("open result=1", "search query=zzz", "open result=1"):
        _, reward, *_, info = env.step(text)
        assert (reward, info["action_is_valid"]) == (0.0, True)
        assert info["action_is_effective"] == text.startswith("search")
    assert env.render().endswith("\nResults: none")
    assert env.stand == Stand(results=())


def test_without_an_answer_the_episode_ends_after_twelve_turns():
    env = started()
    told = [env.step("search query=vornholt") for _ in range(12)]
    assert [said[3] for said in told] == [False] * 11 + [True]
    assert [said[-1]["action_is_effective"] for said in told] == [True] + [False] * 11
    assert "Grostnesk Glassworks" not in told[-1][0]


@pytest.mark.parametrize("text", ["lamp", "", "CALL", "open result=6"])
def test_what_is_no_call_costs_a_penalty(text):
    env = started()
    _, reward, *_, info = env.step(text)
    assert (reward, info["action_is_valid"], info["turn"]) == (-0.1, False, 1)


def test_native_calls_are_the_same_calls():
    env = started(form="tools")
    names = [schema["function"]["name"] for schema in env.functions_now]
    assert names == ["search", "open", "answer"]
    call = '<tool_call>{"name": "%s", "arguments": {"%s": %s}}</tool_call>'
    env.step(call % ("search", "query", '"Vornholt"'))
    env.step(call % ("open", "result", 2))
    assert env.render().endswith(SONGS)
    assert env.step(call % ("answer", "text", '"Grostnesk Glassworks"'))[1] == 1.0


@pytest.mark.parametrize(
    ("split", "seeds"),
    [
        ("test", 16),
        pytest.param("test", 256, marks=pytest.mark.slow),
        pytest.param("val", 256, marks=pytest.mark.slow),
    ],
)
def test_the_oracle_answers_each_question_with_names_that_it_was_shown(split, seeds):
    env = started(split=split)
    for seed in range(seeds):
        seen, _ = env.reset(seed=seed)
        while env.is_running:
            [text] = env.best_actions()
            if not text.startswith("open"):
                assert text.partition("=")[2] in seen.lower()
            observation, reward, *_, info = env.step(text)
            seen += observation
        assert (reward, info["success"], info["found"]) == (1.0, True, info["needed"])
        assert info["turn"] <= 2 * info["needed"] + 1 <= 9


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(0, 255), st.lists(hostile, max_size=11))
def test_hostile_queries_find_something_or_nothing_and_the_oracle_goes_on(seed, queries):
    env = started(seed)
    for query in queries:
        observation, reward, terminated, *_ = env.step(f"search query={query}")
        assert observation in env.observation_space
        assert reward in (0.0, -0.1)
        assert not terminated
        assert len(env.stand.results or ()) <= 5
    while env.is_running:
        _, reward, *_ = env.step(*env.best_actions())
    assert reward == 1.0
