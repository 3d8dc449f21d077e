"""What an environment reads in an answer without taking it."""

import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.protocol import RESPONSE_FORMATS, FreeText, format_answer
from tests.ragen_envs.support import COUNTDOWN, DESK, IDS, TWENTY_QUESTIONS, WEBSHOP, make

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
        any_text = id_.partition("/")[2] in (*TWENTY_QUESTIONS, *COUNTDOWN)
        nothing = "" if any_text else "no action"
        assert env.read(nothing)[1] == ()
        while not any(env.step("no action")[2:4]):
            pass


@pytest.mark.parametrize("id_", IDS)
def test_words_of_ones_own_are_questions_expressions_or_of_the_search_page_alone(id_):
    env = make(id_, split="test", response_format="plain")
    env.reset(seed=0)
    if id_.partition("/")[2] in TWENTY_QUESTIONS:
        for _ in range(20):
            assert env.free_text == FreeText("", "", 200)
            env.step("lamp")
        assert env.free_text is None
        return
    if id_.partition("/")[2] in COUNTDOWN:
        for _ in range(env.budget.max_turns):
            assert env.free_text == FreeText("", "", 100)
            env.step("1 + 2")
        assert env.free_text is None
        return
    if id_.partition("/")[2] in DESK:
        assert env.free_text[:3] == ("", "", 200)
        assert env.read("lamp")[1] == ()
        assert env.read("Enter thing=o9  file=f1")[1] == ("enter file=F1 thing=O9",)
        return
    if id_ == "ragen/Search-v0":
        assert env.free_text[:3] == ("", "", 200)
        assert env.read("lamp")[1] == ()
        assert env.read("Search query= Red  Lamp")[1] == ("search query=red lamp",)
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
    before, after, longest, _ = env.free_text
    printable = st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="]<|")
    said = data.draw(st.text(printable, min_size=1, max_size=longest).filter(str.strip))
    parsed, [name] = env.read(format_answer([f"{before}{said}{after}"], form))
    assert parsed[:1] + parsed[2:] == (True, True, False)
    assert name == f"{before}{' '.join(said.lower().split())}{after}"
    told, *_, info = env.step(format_answer([name], form))
    assert told.startswith(f"Done: {name}.")
    assert info["action_is_valid"]
    assert env.page.kind == "results"
