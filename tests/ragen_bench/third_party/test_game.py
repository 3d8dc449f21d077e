"""The registry of third-party environments and the notes on their missing features."""

import gymnasium
import pytest

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.scores.baselines import compute_baseline
from ragen_bench.suites import env_id, held_out_size, make_env, plays, states_form
from ragen_bench.third_party import ThirdPartyEnv, get_game, register_environment
from tests.ragen_envs.counting import CountEnv

MODULE = "tests.ragen_bench.third_party.external_games"
GUESS, ECHO = f"{MODULE}:external/Guess-v0", f"{MODULE}:external/Echo-v0"


@pytest.fixture(scope="module", autouse=True)
def _named():
    gymnasium.register("counted/Count-v0", CountEnv, kwargs={"variant": "Count-v0"})
    for env in (GUESS, ECHO, "counted/Count-v0"):
        assert register_environment(env) == env


def test_properties_are_found_by_inspection():
    guess, echo = get_game(GUESS), get_game(ECHO)
    assert guess.takes == {"split"}
    assert (guess.takes_noise_seed, guess.lists_actions, guess.repeats) == (True, True, True)
    assert (echo.takes, echo.takes_noise_seed, echo.lists_actions) == (frozenset(), False, False)
    assert echo.doc == "Pays for long answers, and tells nothing else."
    assert (states_form(GUESS), states_form("ragen/Sokoban-v0")) == (True, False)


def test_notes_say_what_is_missing():
    assert get_game(GUESS).notes() == [
        f"{GUESS} has no max_episode_steps: episodes are truncated after 100 turns.",
        f"{GUESS} has no oracle: no normalised score.",
    ]
    assert [line.partition(" has ")[2] for line in get_game(ECHO).notes()] == [
        "no splits: its instances are the seeds from 0 on.",
        "no legal_actions, so no random baseline; name a player with --random-player.",
        "no max_episode_steps: episodes are truncated after 100 turns.",
        "no oracle: no normalised score.",
    ]


def test_ignored_seeds_are_noted():
    class Moody(gymnasium.Env):
        count = 0

        def reset(self, *, seed=None, options=None):
            Moody.count += 1
            return f"Mood {Moody.count}.", {}

    gymnasium.register("moody/Env-v0", Moody)
    register_environment("moody/Env-v0")
    assert any("no fixed instances" in line for line in get_game("moody/Env-v0").notes())


def test_an_environment_gets_the_split_that_it_takes():
    env = make_env(GUESS, "val", "plain")
    assert isinstance(env, ThirdPartyEnv)
    assert env.reset(seed=4)[0] == "val: guess a digit from 0 to 9."
    assert held_out_size(GUESS) == 256


def test_a_text_env_of_another_package_is_played_as_the_suite_s_own():
    game = get_game("counted/Count-v0")
    assert (game.is_text_env, game.notes(), game.states_form) == (True, [], False)
    env = make_env("counted/Count-v0", "train", "answer")
    assert isinstance(env, CountEnv)
    assert (env.split, env.response_format) == ("train", "answer")
    assert plays("oracle", "counted/Count-v0")
    oracle = compute_baseline("oracle", "counted/Count-v0", "train", range(3))
    assert oracle is not None
    assert (oracle["episodes"], oracle["success"], oracle["ceiling"]) == (48, 1.0, 1.0)


def test_players_that_cannot_play_have_no_baseline():
    assert (plays("random", GUESS), plays("oracle", GUESS)) == (True, False)
    assert (plays("random", ECHO), plays("python:a:b", ECHO)) == (False, True)
    assert compute_baseline("oracle", GUESS, "test", range(2)) is None
    assert compute_baseline("random", ECHO, "test", range(2)) is None
    floor = compute_baseline("random", GUESS, "test", range(8))
    assert floor is not None
    # Four draws of ten digits with repetition: 1 - 0.9 ** 4 = 0.344, here over 128 episodes.
    assert floor["success"] == pytest.approx(0.344, abs=0.13)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:my/Env-v0", r"nowhere cannot be imported: ModuleNotFoundError"),
        ("my/Env-v0", r"'my/Env-v0' is not known: .*; MODULE:my/Env-v0 imports the module"),
        (f"{MODULE}:external/None-v0", r"is not known"),
        (f"{MODULE}:external/Numbers-v0", r"is not a text environment: reset returned an obs"),
        ("ragen/Nothing-v0", r"unknown environment 'ragen/Nothing-v0'"),
    ],
)
def test_an_unknown_environment_is_one_clear_error(name, message):
    with pytest.raises(UserError, match=message):
        env_id(name)


def test_nobody_plays_against_the_model_in_another_package_s_environment():
    with pytest.raises(UserError, match="has no opponent; remove --opponent"):
        env_id(GUESS, opposed=True)


def test_an_overflow_scores_nothing_where_no_score_is_told():
    for env, score, success in ((ECHO, None, None), (GUESS, 0.0, False)):
        made = make_env(env, "test", "plain")
        episode = Episode(Task(env, "test", 0, 0), 0, made, "plain")
        episode.overflow("player")
        record = episode.record()
        assert record.outcome == "context_overflow"
        assert (record.score, record.success) == (score, success)
