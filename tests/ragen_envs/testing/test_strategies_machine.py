"""The state machine runs through on a correct environment, and finds mistakes."""

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from ragen_envs.testing import CheckFailed, text_env_machine
from tests.cases import first_fast
from tests.ragen_envs.testing.broken import BROKEN
from tests.ragen_envs.testing.lamps import subject_of

FOUND = {
    "observation_space": r"has \['!'\], not in the charset",
    "rewards": "the reward is nan",
    "flags": "truncated is 0",
    "step_after_end": "was accepted",
    "hostile_text": "UnicodeEncodeError.*\n.*a table looked up by the raw answer",
    "deepcopy": "(after a deep copy|played again): turn",
    "reset_forgets": "played again: turn",
    "two_in_turns": "(after a deep copy|played again): turn",
}
QUICK = settings(
    max_examples=200,
    stateful_step_count=20,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
)

TestLamps = text_env_machine(subject_of()).TestCase
TestLamps.settings = settings(max_examples=20, stateful_step_count=20)


@pytest.mark.parametrize("name", first_fast(FOUND))
def test_a_mistake_is_found(name):
    with pytest.raises(CheckFailed, match=FOUND[name]):
        run_state_machine_as_test(text_env_machine(BROKEN[name][0]), settings=QUICK)


def test_machines_do_not_share_their_subject():
    one, other = text_env_machine(subject_of()), text_env_machine(BROKEN["flags"][0])
    assert one.subject.make_env is not other.subject.make_env
    assert one.TestCase is not other.TestCase
