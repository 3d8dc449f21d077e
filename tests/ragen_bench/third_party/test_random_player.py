"""A random player that the user names, in environments of another package."""

import json
from pathlib import Path

import pytest

from ragen_bench import Run, UserError, evaluate
from ragen_bench.cli.main import main
from ragen_bench.leaderboard.rules import explain_refusal
from ragen_bench.leaderboard.schema import EntryRun
from ragen_bench.models import random_player
from ragen_bench.models.random_player import import_random_player
from ragen_bench.runs.checked import BadRecordError, read_record
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.specification import config_differences
from ragen_bench.scores.baselines import compute_baseline
from ragen_bench.scores.summary import summarise
from ragen_bench.suites import register_environment
from ragen_envs.core.instances import RandomStream
from tests.ragen_bench.scores.pairs import compare
from tests.ragen_bench.third_party import random_players

GUESS = "tests.ragen_bench.third_party.external_games:external/Guess-v0"
ECHO = "tests.ragen_bench.third_party.external_games:external/Echo-v0"
PLAYERS = "tests.ragen_bench.third_party.random_players"
NEVER = f"{PLAYERS}:never"
ENTRIES = Path(__file__).parents[3] / "leaderboard" / "entries"


@pytest.mark.slow
def test_its_score_is_the_floor_and_another_function_has_another():
    register_environment(GUESS)
    floors = [
        compute_baseline(
            "random", GUESS, "test", range(16), import_random_player(f"{PLAYERS}:{function}")
        )
        for function in ("digit", "never")
    ]
    # Four different digits of ten hit with 0.4; with repetition, as listed actions do, with 0.344.
    assert floors[0]["success"] == pytest.approx(0.4, abs=0.09)
    assert (floors[1]["success"], floors[1]["episodes"]) == (0.0, 256)


def test_answers_are_a_function_of_what_was_seen_and_the_stream():
    player = import_random_player(NEVER)
    answers = [player.answer(("a", "b"), RandomStream("it", label), "here") for label in (1, 1, 2)]
    assert answers[0] == answers[1] != answers[2]
    assert answers[0].startswith("no digit, turn 2: 0.")


def test_it_plays_where_nothing_is_listed_and_is_in_the_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"env": [GUESS, ECHO], "limit": 2, "samples": 2, "progress": False}
    run = evaluate("random", **settings, random_player=random_players.never)
    assert "_random-tests.ragen-bench.third-party.random-players-never_samples2_" in run.path.name
    assert run.config.random_player == NEVER
    assert f"random_player='{NEVER}'" in run.config.command
    first, *_ = run.episodes
    assert [turn.answer[:16] for turn in first.turns] == [f"no digit, turn {n}" for n in "1234"]
    again = evaluate("random", **settings, random_player=NEVER, out="again")
    assert again.episodes == run.episodes
    assert run.metrics[0].random.episodes == 32
    with pytest.raises(UserError, match=r'\(random_player: .*never" there, .*digit" here\)'):
        evaluate("random", **settings, random_player=f"{PLAYERS}:digit", out="again")
    listed = {"env": GUESS, "limit": 1, "out": "listed", "progress": False}
    evaluate("random", **listed, random_player=NEVER)
    with pytest.raises(UserError, match=r'\(random_player: ".*never" there, null here\)'):
        evaluate("random", **listed)


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A run as another process finds it, whose user has named no function yet."""
    path = tmp_path / "run"
    evaluate("random", env=ECHO, limit=2, random_player=NEVER, out=path, progress=False)
    monkeypatch.setattr(random_player, "_IMPORTED", {})
    return path


def test_a_record_alone_names_no_function(recorded, capsys):
    here = [str(recorded), "--env", ECHO]
    for name in ("replay", "report"):
        assert main([name, *here]) == 2
        refused = capsys.readouterr().err
        assert f"is '{NEVER}'; if you trust it, add --random-player to import it" in refused
        assert refused.count("\n") == 1
    for name in ("replay", "report"):
        assert main([name, *here, "--random-player", NEVER]) == 0
    assert "Replayed 2 of 2 planned episodes: 2 equal, 0 different." in capsys.readouterr().out
    page = (recorded / "report.html").read_text(encoding="utf-8")
    assert f"<dt>Random player</dt><dd><bdi>{NEVER}</bdi></dd>" in page


def test_a_changed_module_is_found(recorded):
    run, file = read_run(recorded), recorded / "run.json"
    [hashed] = run.config.random_player_identity.values()
    file.write_text(file.read_text().replace(hashed, "0" * 16))
    changed = read_run(recorded)
    import_random_player(NEVER)
    assert [*config_differences(run.config)] == []
    [difference] = config_differences(changed.config)
    assert difference.startswith('random_player_identity.source_sha256: recorded "0000')
    with pytest.raises(UserError, match="the run's random player, has changed since the run"):
        summarise(changed)
    [note] = [line for line in compare(run, changed)["notes"] if "random_player" in line]
    assert note.startswith(f'random_player_identity: {{"source_sha256": "{hashed}"}} in A')


def test_the_leaderboard_has_no_entry_of_it(recorded):
    assert "the run is of chosen environments" in explain_refusal(read_run(recorded).config)
    entry = json.loads((ENTRIES / "random_quick_test" / "entry.json").read_text())["run"]
    assert read_record(EntryRun.model_validate, entry).as_json() == entry
    with pytest.raises(BadRecordError, match='has the unknown field "random_player"'):
        read_record(EntryRun.model_validate, {**entry, "random_player": NEVER})


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("nowhere:digit", "nowhere:digit cannot be imported: ModuleNotFoundError"),
        ("guesser", "--random-player is MODULE:FUNCTION, got 'guesser'"),
        (f"{PLAYERS}:digits", f"{PLAYERS}:digits cannot be imported: AttributeError: digits"),
        (f"{PLAYERS}:hidden", "cannot be imported: RuntimeError: not for you"),
        (f"{PLAYERS}:NUMBER", "NUMBER is not a function; it takes the observations"),
        (f"{PLAYERS}:Player", "Player is a class, not a function"),
        (f"{PLAYERS}:later", "later is async def, not a function"),
        (
            f"{PLAYERS}:number",
            r"number returned int; .*Echo-v0/test, instance 0, sample 0",
        ),
        (
            f"{PLAYERS}:raising",
            r"raised ValueError: it broke \(.*random_players.py, line 22, in",
        ),
        (lambda observations, generator: "", "cannot be found by its name; give MODULE:FUNCTION"),
    ],
)
def test_what_a_user_gets_wrong_is_one_line(named, says, tmp_path):
    play = {"env": ECHO, "limit": 1, "out": tmp_path / "run", "progress": False}
    with pytest.raises(UserError, match=says) as refused:
        evaluate("random", **play, random_player=named)
    assert "\n" not in str(refused.value)


def test_an_edited_file_does_not_play_in_the_same_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("edited.py").write_text("def play(observations, generator): return 'one'")
    named = import_random_player("edited:play")
    Path("edited.py").write_text("def play(observations, generator): return 'two'")
    assert import_random_player("edited:play") is named


def test_a_record_without_its_hash_differs(recorded):
    config = Run(recorded, env=ECHO, random_player=random_players.never).config
    without = {name: value for name, value in config.as_json().items() if "player_id" not in name}
    [difference] = config_differences(type(config).model_validate(without))
    assert difference.startswith("random_player_identity: recorded null, recomputed an object")


def test_the_suite_s_own_environments_keep_theirs(tmp_path):
    with pytest.raises(UserError, match="--random-player is for third-party environments"):
        evaluate(
            "random", env="Bandit-v0", random_player=random_players.digit, out=tmp_path / "run"
        )
