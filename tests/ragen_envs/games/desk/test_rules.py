"""What calls change, and differences of offices, beside dictionaries that are changed by hand."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.desk.calls import TOOLS, Call
from ragen_envs.games.desk.drafts import office_of
from ragen_envs.games.desk.office import Contact, Event, Sent
from ragen_envs.games.desk.requests import after
from ragen_envs.games.desk.rules import RefusedError, apply_call, difference, is_possible, repairs
from tests.ragen_envs.games.desk import reference

SIZES = 3, 3, 3, 3, 3


def office(seed=0):
    return office_of(RandomStream("an office", seed), SIZES)


CALLS = [Call(tool, tuple(values)) for tool, *values in reference.small_changes(office(), [])]


def by_hand(start, call):
    """Return the records and what was sent after a call, None if it changes nothing."""
    now, sent = reference.rows(start), sorted(tuple(mail) for mail in start.sent)
    first, *rest = call.values
    if call.tool == "send":
        return now, sorted([*sent, call.values])
    if call.tool == "schedule":
        number = len(start.events) + 1
        now[f"E{number}"] = Event(*call.values)._asdict()
        return now, sent
    if call.tool == "add_contact":
        if any(row["address"] == rest[1] for thing, row in now.items() if thing[0] == "C"):
            return None
        added = Contact(first.title(), rest[0].title(), "", rest[1])
        now[f"C{len(start.contacts) + 1}"] = added._asdict()
        return now, sent
    new = {
        "reply": lambda row: {"answer": row["answer"] or rest[0]},
        "move": lambda _: dict(zip(("day", "time"), rest, strict=True)),
        "cancel": lambda _: {"cancelled": True},
        "change_order": lambda _: {"boxes": int(rest[0])},
        "move_file": lambda _: {"folder": rest[0]},
        "enter": lambda row: {"entries": tuple(sorted({*row["entries"], *rest}))},
    }[call.tool](now[first])
    stands = call.tool in ("move_file", "reply", "enter") or not now[first]["cancelled"]
    if not stands or new.items() <= now[first].items():
        return None
    now[first] = {**now[first], **new}
    return now, sent


@given(st.lists(st.sampled_from(CALLS), min_size=1, max_size=6))
def test_each_call_changes_what_it_says_and_nothing_else(calls):
    now = office()
    for call in calls:
        wanted = by_hand(now, call)
        assert is_possible(now, call) is (wanted is not None)
        if wanted is None:
            with pytest.raises(RefusedError):
                apply_call(now, call)
            continue
        now = apply_call(now, call)
        assert (reference.rows(now), sorted(tuple(mail) for mail in now.sent)) == wanted


def test_every_tool_that_changes_something_is_tried():
    assert {call.tool for call in CALLS} | {"add_contact"} == TOOLS.keys() - {
        "list",
        "read",
        "ask",
        "done",
    }


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ("cancel E1, cancel E1", "E1 is cancelled."),
        ("cancel E1, move E1 Monday 09:00", "E1 is cancelled."),
        ("cancel O1, change_order O1 7", "O1 is cancelled."),
        ("move E1 Monday 09:00, move E1 Monday 09:00", "E1 is there already."),
        ("change_order O1 7, change_order O1 7", "O1 is for as many already."),
        ("move_file F1 sales, move_file F1 travel, move_file F1 travel", "F1 is there already."),
        ("enter F1 O1, enter F1 O1", "O1 stands in F1 already."),
        ("reply M1 yes, reply M1 no", "M1 was answered before."),
        ("add_contact a b a@b, add_contact c d a@b", "a@b is among the contacts already."),
        ("cancel C1", "There is no such thing as C1 here."),
        ("send a@b F4", "There is no such thing as F4 here."),
        ("enter F4 E1", "There is no such thing as F4 here."),
    ],
)
def test_what_the_office_refuses(calls, told):
    *first, last = (Call(*_split(text)) for text in calls.split(", "))
    now = office()
    for call in first:
        if is_possible(now, call):
            now = apply_call(now, call)
    with pytest.raises(RefusedError, match=told):
        apply_call(now, last)


def _split(text):
    tool, *values = text.split()
    return tool, tuple(values)


def count(start, goal, now):
    """Count what is missing and what is a side effect, by sets and lists of records."""
    was, wanted, found = map(reference.rows, (start, goal, now))
    old = [thing for thing in was if found[thing] != wanted[thing]]
    missing = sum(wanted[thing] != was[thing] for thing in old)
    wrong = sum(found[thing] != was[thing] for thing in old)

    def made(rows, of):
        new = [(thing[0], row) for thing, row in rows.items() if thing not in was]
        return new + [("sent", mail) for mail in of.sent]

    left, extra = made(wanted, goal), []
    for record in made(found, now):
        (left.remove if record in left else extra.append)(record)
    return missing + len(left), wrong + len(extra)


@given(*[st.lists(st.sampled_from(CALLS), max_size=5)] * 2, st.booleans())
def test_the_difference_counts_records(some, others, shared):
    start = office()
    goal = now = start
    for call in some:
        goal = apply_call(goal, call) if is_possible(goal, call) else goal
    for call in [*(some[::-1] if shared else []), *others]:
        now = apply_call(now, call) if is_possible(now, call) else now
    assert difference(start, goal, now) == count(start, goal, now)
    assert difference(start, goal, start).side_effects == 0
    assert difference(start, goal, goal) == (0, 0)
    same = reference.rows(goal) == reference.rows(now) and sorted(goal.sent) == sorted(now.sent)
    assert same <= (difference(start, goal, now) == (0, 0))


@given(st.lists(st.sampled_from(CALLS), max_size=6))
def test_repairs_lead_from_the_start_to_any_goal_that_calls_reach(calls):
    start = office()
    goal = start
    for call in calls:
        goal = apply_call(goal, call) if is_possible(goal, call) else goal
    # An event that was moved and then cancelled is not what cancelling alone makes of it.
    moved = {call.values[0] for call in calls if call.tool == "move"}
    cancelled = {call.values[0] for call in calls if call.tool == "cancel"}
    if not moved & cancelled and not any(
        call.tool in ("move", "cancel") and int(call.values[0][1:]) > 3 for call in calls
    ):
        assert difference(start, goal, after(start, repairs(start, goal))) == (0, 0)


def test_mails_that_were_sent_twice_are_a_side_effect():
    start = office()
    goal = start._replace(sent=(Sent("a@b", "F1"),))
    twice = start._replace(sent=goal.sent * 2)
    assert difference(start, goal, twice) == (0, 1)
    assert difference(start, twice, goal) == (1, 0)
    assert [*islice(repairs(goal, twice), 9)] == [Call("send", ("a@b", "F1"))]
