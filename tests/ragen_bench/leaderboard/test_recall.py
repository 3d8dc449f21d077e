"""What the cache keeps of verified entries, and what makes it worthless."""

import gzip

import pytest

from ragen_bench import cache
from ragen_bench.leaderboard import verify
from ragen_bench.leaderboard.files import open_entry
from ragen_envs.core.sealed import new_key
from tests.ragen_bench.leaderboard.entries import edit_entry, edit_records, entry_of, evaluation


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """The folder of the results, empty at first."""
    monkeypatch.delenv(cache.RECOMPUTE)
    monkeypatch.setenv("RAGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "cache" / "results"


def recalled(path):
    """Verify an entry with the cache, and return the verdict and the number of replayed lines."""
    replayed = []
    verdict = verify(path, lambda number, _: replayed.append(number), recall=True)
    assert verdict.recalled == (verdict.verified and not replayed)
    return verdict, len(replayed)


def test_an_unchanged_entry_is_replayed_once_with_the_same_verdict(entry, kept):
    first, replayed = recalled(entry)
    second, again = recalled(entry)
    assert (replayed, again) == (8, 0)
    assert first.verified
    assert second.as_json() == first.as_json()
    assert (second.signs, second.summary) == (first.signs, first.summary)
    plain = verify(entry)
    assert (plain.recalled, plain.as_json()) == (False, first.as_json())
    with cache.ignoring_cache():
        assert recalled(entry)[1] == 8


def repack(entry):
    file = entry / "episodes.jsonl.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()), 1, mtime=0))


@pytest.mark.parametrize("changed", ["entry", "packing", "package"])
def test_a_changed_byte_is_verified_again(entry, monkeypatch, changed):
    recalled(entry)
    if changed == "entry":
        edit_entry(entry, lambda content: content.update(submitter="Somebody else"))
    elif changed == "packing":
        repack(entry)
    else:
        monkeypatch.setattr(cache, "fingerprint_packages", lambda: ["a byte"])
    assert recalled(entry)[1] == 8


def test_a_refused_entry_is_not_kept(entry, kept):
    recalled(entry)
    before = set(kept.glob("verdict-*"))
    edit_records(entry, lambda records: records[3].update(score=0.5))
    for _ in range(2):
        verdict, replayed = recalled(entry)
        assert (verdict.verified, replayed) == (False, 8)
    assert set(kept.glob("verdict-*")) == before


def test_a_sealed_entry_is_recalled_with_its_key_alone(tmp_path, monkeypatch):
    key, other = new_key(), new_key()
    monkeypatch.setenv("RAGEN_SEALED_KEY", key)
    entry = entry_of(tmp_path, evaluation(split="sealed"))
    assert [recalled(entry)[1] for _ in range(2)] == [8, 0]
    monkeypatch.setenv("RAGEN_SEALED_KEY", other)
    verdict, _ = recalled(entry)
    assert not verdict.recalled
    assert verdict.problems[0].startswith("run: suite_hash: recorded")
    monkeypatch.setenv("RAGEN_SEALED_KEY", key)
    assert recalled(entry)[1] == 0


def test_the_author_of_an_entry_cannot_forge_its_verdict(entry, kept, monkeypatch, capsys):
    """Even with a file in the cache, made by the same code under a key of the author's own."""
    verdict, _ = recalled(entry)
    edit_records(entry, lambda records: records[3].update(score=0.5))
    with open_entry(entry) as files:
        content = files.digest()
    forged = {
        "checks": {check.name: check.message for check in verdict.checks[-2:]},
        "signs": [],
        "episodes": 8,
        "turns": 8,
        "summary": verdict.summary,
    }
    mine = kept.parents[1] / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(mine.with_name("authors")))
    cache.fetch("verdict", [content, ""], lambda: forged)
    assert recalled(entry)[0].verified  # in the author's eyes alone
    monkeypatch.setenv("XDG_CONFIG_HOME", str(mine))
    verdict, replayed = recalled(entry)
    assert (verdict.verified, replayed) == (False, 8)
    assert "or another program wrote it" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["entry.json", "episodes.jsonl.gz"])
def test_a_file_that_changes_during_the_check_is_not_kept(entry, kept, name):
    def change(number, _planned):
        if number == 8:
            with (entry / name).open("r+b") as file:
                file.seek(-2, 2)
                file.write(b" ")

    verdict = verify(entry, change, recall=True)
    assert verdict.problems == ["files: changed while they were verified"]
    assert not list(kept.glob("verdict-*"))
