"""Each mistake is found by the check that looks for it, and by no other."""

import pytest

from ragen_envs.testing import CHECKS, CheckFailed, check_text_env, run_checks
from tests.ragen_envs.testing.broken import BROKEN
from tests.ragen_envs.testing.broken.isolation import DrawsFromRandom, SeedsAndDrawsFromRandom
from tests.ragen_envs.testing.lamps import subject_of

pytestmark = pytest.mark.slow


def test_a_correct_environment_passes_all_checks():
    outcomes = check_text_env(subject_of())
    assert [outcome.name for outcome in outcomes] == list(CHECKS)
    assert {(outcome.status, outcome.message) for outcome in outcomes} == {("passed", "")}


def test_there_is_a_broken_environment_for_each_check():
    assert sorted(BROKEN) == sorted(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_mistake_is_found_by_its_check_alone(name):
    subject, seen, mistake = BROKEN[name]
    outcomes = run_checks(subject)
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    assert [outcome.name for outcome in failed] == [name]
    fact, likely, remedy = failed[0].message.split("\n  ")
    assert seen in fact
    assert likely.startswith("Likely mistake: ")
    assert mistake in likely
    assert remedy.startswith("Remedy: ")


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_alone_raises(name):
    subject, seen, _ = BROKEN[name]
    with pytest.raises(CheckFailed) as failure:
        CHECKS[name].function(subject)
    assert seen in str(failure.value)


@pytest.mark.parametrize(
    ("cls", "checks"),
    [
        (DrawsFromRandom, ["global_random_not_read"]),
        (SeedsAndDrawsFromRandom, ["global_random_not_written"]),
    ],
)
def test_the_use_of_a_global_generator_is_reported_for_what_it_is(cls, checks):
    outcomes = run_checks(subject_of(cls))
    assert [outcome.name for outcome in outcomes if outcome.status == "failed"] == checks
    skipped = {outcome.name for outcome in outcomes if outcome.status == "skipped"}
    assert "two_in_threads" in skipped
