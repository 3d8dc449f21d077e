"""From real entries to a site on the disk, and what is refused."""

import json
import shutil
import threading
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ragen_bench import cache
from ragen_bench.cli import main
from ragen_bench.errors import UserError
from ragen_bench.leaderboard import EntryError, compare_rerun
from ragen_bench.leaderboard.schema import parse_entry
from ragen_bench.pages.leaderboard import build_site
from ragen_bench.pages.leaderboard.build import EntryDirectory
from ragen_bench.pages.leaderboard.site_entries import read_reference
from ragen_bench.pages.local_server import SiteServer
from tests.ragen_bench.leaderboard.entries import (
    edit_entry,
    edit_records,
    entry_json,
    entry_of,
    evaluation,
)

pytestmark = pytest.mark.xdist_group("leaderboard")

PUBLISHED = Path(__file__).parents[4] / "leaderboard"


@pytest.fixture(scope="module")
def originals(honest, tmp_path_factory):
    """A leaderboard of three real entries, one with a rerun."""
    folder = tmp_path_factory.mktemp("leaderboard")
    for model in ("random", "oracle"):
        made = entry_of(tmp_path_factory.mktemp(model), evaluation(model))
        shutil.copytree(made, folder / "entries" / model)
    shutil.copytree(honest, folder / "entries/mixed")
    write_rerun(folder, "mixed")
    return folder


@pytest.fixture
def leaderboard(originals, tmp_path):
    """A copy to be changed."""
    shutil.copytree(originals, tmp_path / "board")
    return tmp_path / "board"


def write_rerun(folder, name, **changed):
    """Write what `reproduce` would of an entry; the rerun has its figures."""
    entry = entry_json(folder / "entries" / name)
    said = {
        "entry": name,
        "episodes_sha256": entry["episodes_sha256"],
        "model": "hf/mine",
        "seed": 1,
        **compare_rerun(entry["summary"], entry["summary"]),
        **changed,
    }
    (folder / "reproductions").mkdir(exist_ok=True)
    (folder / f"reproductions/{name}.json").write_text(json.dumps(said))


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.fixture(scope="module")
def site(originals, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "site"
    said = []
    built = build_site(
        originals, out, on_entry=lambda name, problems: said.append((name, problems))
    )
    assert built.refused == {}
    assert said == [("mixed", []), ("oracle", []), ("random", [])]
    return out


@pytest.mark.slow
def test_a_site_of_verified_entries(site, originals):
    pages = {f"entries/{name}/{page}.html" for name in ("mixed", "oracle", "random")
             for page in ("index", "report")}  # fmt: skip
    assert set(contents(site)) == {
        *("README.md", "index.html", "leaderboard.json", "leaderboard.csv"),
        *pages,
    }
    (ranking,) = json.loads((site / "leaderboard.json").read_text())["boards"]
    assert (ranking["suite"], ranking["version"], ranking["split"]) == ("tiny", 3, "test")
    found = {entry["entry"]: entry for entry in ranking["entries"]}
    assert {name: (e["rank"], e["verified"], e["reproduced"]) for name, e in found.items()} == {
        "oracle": (None, True, None),
        "mixed": (1, True, True),
        "random": (None, True, None),
    }
    summary = entry_json(originals / "entries/mixed")["summary"]
    assert found["mixed"]["suite_score"] == summary["suite_score"]
    assert [row["success"] for row in found["mixed"]["rows"]] == [
        row["success"] for row in summary["envs"]
    ]


def test_episodes_that_change_after_their_verification(originals, tmp_path):
    path = originals / "entries/mixed"
    entry = entry_json(path)
    assert len(list(EntryDirectory(path, parse_entry(entry), tmp_path).episodes())) == 8
    other = parse_entry({**entry, "episodes_sha256": "0" * 64})
    changed = EntryDirectory(path, other, tmp_path)
    with pytest.raises(EntryError, match="changed while"):
        list(changed.episodes())


@pytest.mark.slow
def test_the_same_bytes_again(site, originals, tmp_path):
    before = contents(originals)
    out = tmp_path / "site"
    for _ in range(2):  # the second takes the place of the first
        (out / "entries/gone").mkdir(parents=True, exist_ok=True)
        for name in ("index.html", "leaderboard.json", "leaderboard.csv"):
            (out / name).write_text("old")
        assert build_site(originals, out).refused == {}
        assert contents(out) == contents(site)
        assert not (out / "entries/gone").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["site"]
    assert contents(originals) == before


@pytest.mark.slow
def test_entries_that_were_verified_before_are_not_replayed(
    site, originals, tmp_path, monkeypatch, capsys
):
    monkeypatch.delenv(cache.RECOMPUTE)
    monkeypatch.setenv("RAGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    out = tmp_path / "site"
    arguments = ["leaderboard", "build", str(originals), "--out", str(out)]
    for more, said in (
        ([], "Entries  3\n"),
        ([], "Entries  3, 3 of them verified before; --anew replays them\n"),
        (["--anew"], "Entries  3\n"),
    ):
        assert main([*arguments, *more]) == 0
        assert said in capsys.readouterr().out
        assert contents(out) == contents(site)
    assert main([*arguments, "--anew", "--unverified"]) == 2
    assert "remove one of them" in capsys.readouterr().err


def test_from_the_ranking_to_a_trajectory_and_back(visit, site):
    page = visit(site / "index.html")
    page.get_by_role("link", name="A model [7B]").nth(1).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A model [7B]")
    expect(page.get_by_text("8 of 8 planned, each once and in order")).to_be_visible()
    page.get_by_role("link", name="Report with all trajectories").click()
    expect(page.locator("#rows [role=option]")).to_have_count(8)
    expect(page.locator("#episode-title")).to_have_text("Sokoban-v0, instance 0, sample 0")
    page.get_by_role("link", name="Leaderboard entry").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A model [7B]")


def test_an_entry_that_fails_is_named_and_there_is_no_site(leaderboard, tmp_path, capsys):
    edit_records(leaderboard / "entries/oracle", lambda records: records[0].update(score=0.5))
    (leaderboard / "entries/random/more").touch()
    (leaderboard / "entries/Bad name").mkdir()
    out = tmp_path / "site"
    assert main(["leaderboard", "build", str(leaderboard), "--out", str(out)]) == 1
    said = capsys.readouterr().out
    assert "FAIL  oracle\n" in said
    assert "ok    mixed\n" in said
    assert "oracle: episodes: line 1 (ragen/Sokoban-v0/test/0/0) score: recorded 0.5" in said
    assert 'random: files: holds "more"' in said
    assert "No site was written. Refused: Bad name, oracle, random" in said
    assert not out.exists()


@pytest.mark.slow
def test_unverified_entries_are_marked_and_their_trajectories_left_out(
    leaderboard, tmp_path, capsys
):
    edit_entry(
        leaderboard / "entries/mixed", lambda entry: entry["summary"].update(suite_score=0.875)
    )
    (leaderboard / "reproductions/mixed.json").unlink()
    (leaderboard / "entries/random/episodes.jsonl.gz").write_bytes(b"no gzip")
    (leaderboard / "entries/.hidden").mkdir()
    out = tmp_path / "site"
    assert main(["leaderboard", "build", str(leaderboard), "--out", str(out), "--unverified"]) == 0
    assert f"Entries  3, not verified\nSite     {out}/index.html\n" in capsys.readouterr().out
    (shown,) = json.loads((out / "leaderboard.json").read_text())["boards"]
    assert [(e["suite_score"], e["verified"]) for e in shown["entries"] if e["rank"]] == [
        (0.875, False)
    ]
    assert not list(out.rglob("report.html"))


def break_row(name, value):
    return lambda entry: entry["summary"]["envs"][1].update({name: value})


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (break_row("success", "0.5"), 'envs[1].success: "0.5" is not a number'),
        (break_row("success", True), "envs[1].success: true is not a number"),
        (break_row("score_interval", [1]), "score_interval: a list of 1 is too short"),
        (
            break_row("success_interval", [0.9, 0.1]),
            "success_interval: a list of 2 has a lower bound above the upper",
        ),
        (break_row("normalised_interval", None), "has a score without interval"),
        (break_row("random", []), "envs[1].random: a list of 0 is not an object"),
        (break_row("oracle", {"success": 1}), "oracle: lacks success_interval"),
        (lambda entry: entry["summary"].update(suite_score_interval=None), "has a score without"),
        (break_row("env", "ragen/Other-v0"), "summary.envs: are not the environments of the run"),
        (lambda entry: entry["summary"]["envs"].pop(), "are not the environments of the run"),
        (lambda entry: entry.update(link="javascript:alert(1)"), "entry.json: link: "),
    ],
)
def test_figures_that_are_none_are_refused_unverified_too(leaderboard, tmp_path, edit, said):
    edit_entry(leaderboard / "entries/random", edit)
    built = build_site(leaderboard, tmp_path / "site", verified=False)
    ((name, (problem,)),) = built.refused.items()
    assert name == "random"
    assert said in f"entry.json: {problem}"
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"entry": "other"}, 'entry: is of "other", the entry is "mixed"'),
        ({"episodes_sha256": "0" * 64}, 'episodes_sha256: is of "0000'),
        ({"reproduced": False}, "reproduced: recorded false, recomputed true"),
        ({"suite": {"rerun": 9, "rerun_interval": [8, 10]}}, "reproduced: recorded true"),
        ({"suite": {"rerun": "x", "rerun_interval": [8, 10]}}, 'rerun: "x" is not a number'),
        ({"suite": None}, "suite: null is not an object"),
        ({"envs": []}, "envs: are not those of the entry"),
        ({"envs": 3}, "envs: 3 is not a list"),
        ({"seed": 0}, "seed: is the entry's own"),
        ({"model": 3}, "model: 3 is not a text"),
    ],
)
def test_a_rerun_must_be_of_the_entry(leaderboard, tmp_path, changed, said):
    write_rerun(leaderboard, "mixed", **changed)
    built = build_site(leaderboard, tmp_path / "site", verified=False)
    ((name, (problem,)),) = built.refused.items()
    assert (name, problem.partition(" ")[0]) == ("mixed", "reproductions/mixed.json")
    assert said in problem


def test_a_rerun_that_differs_is_told(leaderboard, tmp_path):
    entry = entry_json(leaderboard / "entries/mixed")["summary"]
    other = json.loads(json.dumps(entry))
    other["envs"][0]["score_interval"] = [2.0, 3.0]
    write_rerun(leaderboard, "mixed", **compare_rerun(entry, other))
    build_site(leaderboard, tmp_path / "site", verified=False)
    (shown,) = json.loads((tmp_path / "site/leaderboard.json").read_text())["boards"]
    assert [e["reproduced"] for e in shown["entries"] if e["rank"]] == [False]


def test_a_rerun_without_its_entry(leaderboard, tmp_path):
    (leaderboard / "reproductions/nobody.json").write_text("{}")
    built = build_site(leaderboard, tmp_path / "site", verified=False)
    assert built.refused == {"nobody": ["reproductions/nobody.json belongs to no entry"]}


def test_a_sealed_entry_without_its_key(leaderboard, tmp_path, monkeypatch):
    for variable in ("RAGEN_SEALED_KEY", "RAGEN_SEALED_KEY_FILE"):
        monkeypatch.delenv(variable, raising=False)
    edit_entry(
        leaderboard / "entries/random",
        lambda entry: entry["run"].update(split="sealed", sealed_key_hash="0" * 64),
    )
    built = build_site(leaderboard, tmp_path / "site", verified=False)
    assert "is of the sealed split: " in built.refused["random"][0]


def test_another_directory_is_left_alone(leaderboard, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/index.html").write_text("mine")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "mine", target_is_directory=True)
    for name in ("mine", "file", "link"):
        with pytest.raises(UserError, match="choose another --out"):
            build_site(leaderboard, tmp_path / name, verified=False)
    assert (tmp_path / "mine/index.html").read_text() == "mine"
    with pytest.raises(UserError, match="has no entries/"):
        build_site(tmp_path / "mine", tmp_path / "site")


def test_the_directory_that_one_is_in_is_not_replaced(leaderboard, tmp_path, monkeypatch):
    build_site(leaderboard, tmp_path / "site", verified=False)
    monkeypatch.chdir(tmp_path / "site")
    with pytest.raises(UserError, match="is the working directory"):
        build_site(leaderboard, Path(), verified=False)
    assert Path("index.html").is_file()


@pytest.mark.slow
def test_an_interrupted_build_leaves_the_old_site(leaderboard, tmp_path, monkeypatch):
    out = tmp_path / "site"
    build_site(leaderboard, out, verified=False)
    old = contents(out)
    target = "ragen_bench.pages.leaderboard.build.write_entry_report"

    def interrupt(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(target, interrupt)
    with pytest.raises(KeyboardInterrupt):
        build_site(leaderboard, out)
    assert contents(out) == old
    assert sorted(file.name for file in tmp_path.iterdir()) == ["board", "site"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "a list of 0 is not an object"),
        ('{"sources": 3}', "sources: 3 is not a list"),
        (
            '{"sources": [{"title": 1, "settings": "", "metric": "", "rows": []}]}',
            "sources[0].title: 1 is not a text",
        ),
        (
            '{"sources": [{"title": "", "settings": "", "metric": "", "rows": [{"where": "", '
            '"method": "", "scores": {"a": 101}}]}]}',
            "sources[0].rows[0].scores.a: 101 is above 100",
        ),
    ],
)
def test_a_broken_reference_table(leaderboard, tmp_path, capsys, text, said):
    (leaderboard / "reference.json").write_text(text)
    arguments = ["leaderboard", "build", str(leaderboard), "--out", str(tmp_path / "site")]
    assert main([*arguments, "--unverified"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_published_leaderboard(tmp_path):
    built = build_site(PUBLISHED, tmp_path / "site", verified=False)
    assert built.refused == {}
    core = [entry for entry in built.entries if entry.run.suite == "core"]
    scripted = {entry.scripted: entry for entry in core if entry.scripted}
    assert {player: entry.directory for player, entry in scripted.items()} == {
        "floor": "random_core_test",
        "ceiling": "oracle_core_test",
    }
    low, high = scripted["floor"].figures.suite_interval
    assert low < 0 < high
    low, high = scripted["ceiling"].figures.suite_interval
    assert low < 1 < high
    sources = read_reference(PUBLISHED / "reference.json")
    scores = [score for source in sources for row in source.rows for score in row.scores.values()]
    assert len(sources) == 5
    assert len(scores) == 12 + 6 * 3 + 7 * 4 + 4 + 4 + 4 + 6 + 2
    ragen = sources[0]
    by_name = {(row.where, row.method): row.scores for row in ragen.rows}
    assert by_name["table 4", "StarPO-S"]["Sokoban"] == 21.48
    assert by_name["table 3", "6 actions per turn at most"]["SokobanLarge"] == 6.64
    assert by_name["table 2", "1 response per prompt"]["SokobanNewVocab"] == 22.27


def test_serving(visit, site):
    with SiteServer(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert server.server_address[0] == "127.0.0.1"
            page = visit(server.url)
            page.get_by_role("link", name="A model [7B]").first.click()
            expect(page.get_by_role("heading", level=1)).to_have_text("A model [7B]")
            with urllib.request.urlopen(f"{server.url}leaderboard.csv") as answer:
                assert answer.read() == (site / "leaderboard.csv").read_bytes()
                assert answer.headers["Cache-Control"] == "no-store"
            with pytest.raises(UserError, match=f"port {server.server_port} is not available"):
                SiteServer(site, server.server_port)
        finally:
            server.shutdown()
            thread.join()
    with pytest.raises(UserError, match="between 0 and 65535"):
        SiteServer(site, 65536)
