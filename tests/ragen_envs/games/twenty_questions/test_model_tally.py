"""How an answerer's replies are counted against the rule's."""

from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.twenty_questions.answerer import UNREADABLE, Reply
from ragen_envs.games.twenty_questions.forms import ANSWERS
from ragen_envs.games.twenty_questions.model import ReplyTally


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*(Reply(a, True) for a in ANSWERS), Reply(None, True), UNREADABLE]),
            st.sampled_from([*ANSWERS, None]),
        )
    )
)
def test_counts_are_those_of_the_pairs(pairs):
    tally = ReplyTally()
    for reply, rule in pairs:
        tally.add(reply, rule)
    last = pairs[-1] if pairs else (Reply(None, True), None)
    assert tally.figures() == {
        "rule": last[1],
        "answer": last[0].answer,
        "agrees": None if last[1] is None else last[0].answer == last[1],
        "judged": sum(rule is not None for _, rule in pairs),
        "agreed": sum(rule == r.answer for r, rule in pairs if rule),
        "wrong": sum(None not in (r.answer, rule) and r.answer != rule for r, rule in pairs),
        "unreadable": sum(r is UNREADABLE for r, _ in pairs),
    }
