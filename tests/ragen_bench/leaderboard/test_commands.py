"""`submit`, `verify` and `reproduce` as their user types them."""

import json

import pytest

from ragen_bench.cli import main
from tests.ragen_bench.leaderboard.entries import edit_entry, edit_records, entry_json

SUBMIT = ["submit", "run", "--name", "My Model [7B]", "--submitter", "Somebody"]
ENTRY = "leaderboard/entries/my-model-7b_tiny_test"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["ragen-bench", "evaluate", "in", "a", "test"])
    return tmp_path


@pytest.fixture
def told(capsys):
    def tell(*arguments):
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return tell


@pytest.fixture
def submitted(here, told):
    assert told("evaluate", "random", "--suite", "tiny", "--out", "run")[0] == 0
    said = ["--parameters", "1.5B", "--open-weights", "--date", "2026-11-21"]
    code, out, err = told(*SUBMIT, *said)
    assert (code, err) == (0, "")
    assert f"Entry     {ENTRY}\nEpisodes  8, " in out
    assert "Command   ragen-bench evaluate in a test (published, as all of run.json)" in out
    assert out.endswith(f"Next      ragen-bench verify {ENTRY}\n")
    return here / ENTRY


def test_submit_and_verify(submitted, told):
    entry = entry_json(submitted)
    assert (entry["parameters"], entry["open_weights"], entry["date"], entry["link"]) == (
        1_500_000_000,
        True,
        "2026-11-21",
        None,
    )
    assert told(*SUBMIT, "--out", "again_tiny_test", "--json", "packed.json")[0] == 0
    packed = json.loads((submitted.parents[2] / "packed.json").read_text())
    assert (packed["entry"], packed["episodes"]) == ("again_tiny_test", 8)
    assert packed["suite_score"] == entry["summary"]["suite_score"]
    assert (packed["suite"], packed["differing"]) == ("tiny", [])
    code, out, err = told("verify", ENTRY, "--json", "found.json")
    assert (code, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()[:5]] == [
        ["ok", "files"],
        ["ok", "entry.json"],
        ["ok", "run"],
        ["ok", "episodes"],
        ["ok", "figures"],
    ]
    assert "Verified: my-model-7b_tiny_test, 8 episodes in " in out
    found = json.loads((submitted.parents[2] / "found.json").read_text())
    assert (found["verified"], found["suite_score"]) == (True, entry["summary"]["suite_score"])


def test_a_refused_entry(submitted, told):
    edit_records(submitted, lambda found: found[0].update(success=True, score=1.0))
    code, out, err = told("verify", ENTRY, "--json", "found.json")
    assert (code, err) == (1, "")
    assert "FAIL  episodes   line 1 (ragen/Sokoban-v0/test/0/0) " in out
    assert out.endswith("NOT verified: my-model-7b_tiny_test\nJSON  found.json\n")
    found = json.loads((submitted.parents[2] / "found.json").read_text())
    assert (found["verified"], found["suite_score"]) == (False, None)
    assert [check["passed"] for check in found["checks"]] == [True, True, True, False, False]


def test_the_same_player_reproduces_itself(submitted, told):
    code, out, err = told("reproduce", ENTRY, "random")
    assert (code, err) == (0, "")
    assert "Reproduced." in out
    run = submitted.parents[2] / "runs/reproduce_my-model-7b_tiny_test_seed1"
    found = json.loads((run / "reproduction.json").read_text())
    assert (found["reproduced"], found["seed"], found["model"]) == (True, 1, "random")
    assert found["episodes_sha256"] == entry_json(submitted)["episodes_sha256"]
    assert found["suite"]["entry"] == entry_json(submitted)["summary"]["suite_score"]
    assert found["suite"]["rerun"] == json.loads((run / "summary.json").read_text())["suite_score"]
    config = json.loads((run / "run.json").read_text())
    same = {**entry_json(submitted)["run"], "seed": 1}
    assert config == same


def test_another_player_does_not(submitted, told):
    code, out, err = told("reproduce", ENTRY, "oracle", "--out", "again")
    assert (code, err) == (1, "")
    assert "NOT reproduced." in out
    assert "APART" in out
    code, out, err = told("reproduce", ENTRY, "random", "--out", "again")
    assert (code, err.count("\n")) == (2, 1)
    assert "holds a run of another configuration" in err


def test_a_refused_entry_is_not_rerun(submitted, told):
    edit_entry(submitted, lambda e: e["summary"]["envs"][0].update(score_interval=None))
    code, out, err = told("reproduce", ENTRY, "random")
    assert (code, err) == (1, "")
    assert "FAIL  figures    summary.envs[0].score_interval" in out
    assert not list((submitted.parents[2]).glob("runs/*"))


def test_an_odd_name_does_not_reach_the_terminal(submitted, told):
    submitted.rename(submitted.with_name("\x1b[31mred\udcff"))
    shown = '"\\u001b[31mred\\udcff"'
    for command in (
        ["verify", str(submitted.with_name("\x1b[31mred\udcff"))],
        ["leaderboard", "build"],
    ):
        code, out, err = told(*command)
        assert (code, err, "\x1b" in out) == (1, "", False)
        assert out.count(shown) >= 2
    assert out.endswith(f"Refused: {shown}\n")


def test_mistakes_get_one_line(submitted, told):
    for arguments, code, says in (
        ([*SUBMIT], 2, f"{ENTRY} exists already; choose another --out"),
        ([*SUBMIT, "--parameters", "many"], 2, "--parameters must be a number such as 135M, 7B"),
        ([*SUBMIT, "--parameters", "0"], 2, "--parameters must be a number such as 135M"),
        ([*SUBMIT, "--parameters", "1.5"], 2, "--parameters must be a number such as 135M"),
        ([*SUBMIT, "--out", "x", "--date", "today"], 2, 'date: "today" is not of the form'),
        (["submit", "run", "--name", "x"], 2, "the following arguments are required: --submitter"),
        (["submit", "nowhere", *SUBMIT[2:]], 2, "nowhere holds no run: there is no run.json"),
        (["verify", "nowhere"], 2, "nowhere does not exist; give the directory of an entry"),
        (["verify", "run"], 2, "run is a run, not an entry; ragen-bench submit run makes an entry"),
        (["reproduce", "nowhere", "random"], 2, "nowhere does not exist; give the directory of an"),
        (["reproduce", ENTRY, "nobody"], 2, "unknown model 'nobody'"),
        (["reproduce", ENTRY, "random", "--concurrency", "4"], 2, "--concurrency: for anthropic/"),
    ):
        found, out, err = told(*arguments)
        assert (found, err.count("\n")) == (code, 1), (arguments, out, err)
        assert says in err


def test_a_sealed_event_from_run_to_verdict(here, told, monkeypatch):
    told("sealed", "new", "key.txt", "--event", "Cup")
    told("sealed", "new", "other.txt", "--event", "Cup")
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", "key.txt")
    evaluate = ["evaluate", "oracle", "--suite", "bandit", "--split", "sealed", "--out", "run"]
    assert told(*evaluate)[0] == 0
    assert told(*SUBMIT, "--out", "entry")[0] == 0
    assert told("verify", "entry")[0] == 0
    hashed = told("sealed", "hash", "key.txt")[1].strip()
    assert entry_json(here / "entry")["run"]["sealed_key_hash"] == hashed
    key = (here / "key.txt").read_bytes().strip()
    assert not [file for file in (here / "entry").iterdir() if key in file.read_bytes()]
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", "other.txt")
    code, out, _ = told("verify", "entry")
    assert (code, f'sealed_key_hash: recorded "{hashed[:48]}"' in out) == (1, True)
    monkeypatch.delenv("RAGEN_SEALED_KEY_FILE")
    code, _, err = told("verify", "entry")
    assert (code, err.count("\n")) == (2, 1)
    assert "the sealed split needs the host's key" in err
