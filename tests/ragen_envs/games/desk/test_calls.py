"""Calls of the tools: their one spelling, what is no call, and the reader of an episode."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.desk.calls import TOOLS, TOPICS, Call, DeskReader, call_of, known_call
from ragen_envs.games.desk.office import APPS, DAYS, FOLDERS, TIMES
from ragen_envs.testing.hostile import HOSTILE

numbers = st.integers(1, 99)
ids = st.builds("{}{}".format, st.sampled_from("CMEOF"), numbers)
names = st.text("abcdefgh", min_size=1, max_size=9)
addresses = st.builds("{}.{}@{}.example".format, names, names, names)
titles = st.lists(names, min_size=1, max_size=3).map(" ".join)


def of(letter):
    return st.builds(f"{letter}{{}}".format, numbers)


VALUES = {
    "app": st.sampled_from(APPS),
    "about": st.sampled_from(TOPICS),
    "id": ids,
    "thing": ids,
    "mail": of("M"),
    "event": of("E"),
    "order": of("O"),
    "file": of("F"),
    "answer": st.sampled_from(["yes", "no"]),
    "day": st.sampled_from(DAYS),
    "time": st.sampled_from(TIMES),
    "folder": st.sampled_from(FOLDERS),
    "boxes": st.integers(1, 999).map(str),
    **dict.fromkeys(("to", "guest", "address"), addresses),
    **dict.fromkeys(("title", "name", "company"), titles),
}
calls = st.sampled_from([*TOOLS.values()]).flatmap(
    lambda tool: st.tuples(*(VALUES[p.name] for p in tool.parameters)).map(
        lambda values: Call(tool.name, values)
    )
)


@given(calls, st.booleans())
def test_a_call_reads_as_it_is_written_whatever_its_capitals(call, upper):
    assert call_of(call.text) == call
    text = call.text.upper() if upper else call.text.replace(" ", "  ").swapcase()
    assert call_of(text) == call
    assert known_call(text).text == call.text


def test_the_tools():
    assert len(TOOLS) == 13


@pytest.mark.parametrize(
    "text",
    [
        "list",
        "list app=radio",
        "list mail",
        "read id=3",
        "read id=M0",
        "read id=M100",
        "read id=M01",
        "read id=M\u00b2",
        "read id=X1",
        "reply mail=E1 answer=yes",
        "reply mail=M1 answer=maybe",
        "move event=E1 day=Sunday time=09:00",
        "move event=E1 day=Monday time=9",
        "change_order order=O1 boxes=0",
        "change_order order=O1 boxes=1000",
        "change_order order=O1 boxes=-1",
        "change_order order=O1 boxes=\uff11",
        "send to=ana thing=F1",
        "send to=a@b@c thing=F1",
        f"send to={'a' * 60}@b thing=F1",
        "add_contact name=\u00e9 company=b address=a@b",
        f"add_contact name={'a' * 41} company=b address=a@b",
        "done now",
        "do",
        "",
    ],
)
def test_malformed_calls_are_rejected(text):
    assert call_of(text) is None
    with pytest.raises(ValueError, match="is not a call of a tool"):
        known_call(text)


def reader():
    return DeskReader(("list app=mail", "done")).of_episode()


def test_a_reader_lists_what_was_called_and_shares_nothing_of_it():
    first, prototype = reader(), DeskReader(("list app=mail", "done"))
    twin, other = prototype.of_episode(), prototype.of_episode()
    assert twin.read("Cancel ID=e3", "plain").actions == (2,)
    assert twin.actions == ("list app=mail", "done", "cancel id=E3")
    assert twin.read("cancel  id=E3", "plain").actions == (2,)
    assert other.actions == prototype.actions == first.actions == ("list app=mail", "done")
    assert other.read("cancel id=E4", "plain").actions == (2,)
    assert other.actions[2:] == ("cancel id=E4",)
    assert twin.read("done", "plain") == other.read("DONE", "plain")
    copied = pickle.loads(pickle.dumps(twin))
    assert copied.read("cancel id=E3", "plain").actions == (2,)


def test_several_calls_and_the_example():
    found = reader().read("done || list app=mail || dance || read id=M1 || read id=M2", "plain")
    assert (found.actions, found.actions_valid) == ((1, 0, 2, 3), False)
    assert reader().read("CALL", "plain").is_example
    assert reader().read(f"done{' ' * 500}", "plain").actions == (1,)
    assert reader().read(f"add_contact name={'a ' * 150}company=b address=a@b", "plain")[1] == ()


@given(st.text() | st.sampled_from([*HOSTILE.values()]))
def test_any_text_can_be_read(text):
    found = reader().read(text, "plain")
    assert found.format_valid
    assert found.actions_valid == (len(found.actions) == text.count("||") + 1)
