"""Files and folders that are written whole: nothing half, and nothing through a link."""

import errno
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.runs.atomic import lock_folder, replacing, write_text
from ragen_envs.core.folders import replacing_folder


def test_the_old_content_stays_until_the_new_one_is_whole(tmp_path):
    file = tmp_path / "summary.json"
    write_text(file, "old")
    with replacing(file) as content:
        content.write(b"new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


def test_what_fails_leaves_the_old_content_alone(tmp_path):
    file = tmp_path / "summary.json"
    write_text(file, "old")

    def fail():
        with replacing(file) as content:
            content.write(b"ne")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["summary.json", "episodes.jsonl", "report.html"])
def test_a_planted_link_is_not_followed(tmp_path, name):
    elsewhere = tmp_path / "thesis.tex"
    elsewhere.write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    (run / name).with_suffix(".draft").symlink_to(elsewhere)
    write_text(run / name, "{}")
    assert elsewhere.read_text() == "precious"
    assert (run / name).read_text() == "{}"
    assert not (run / name).is_symlink()
    assert [file.name for file in run.iterdir()] == [name]


def test_what_a_killed_writer_left_is_replaced(tmp_path):
    (tmp_path / "run.draft").write_text("{")
    write_text(tmp_path / "run.json", "{}")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("run.json", "{}")]


def test_a_text_is_written_byte_by_byte(tmp_path):
    write_text(tmp_path / "page.html", "\r\n \u221a \ud800")
    assert (tmp_path / "page.html").read_bytes() == b"\r\n \xe2\x88\x9a \\ud800"


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, monkeypatch):
    opened = Path.open
    monkeypatch.setattr(Path, "open", lambda *_: opened(Path("/dev/full"), "wb"))
    with pytest.raises(UserError) as caught:
        write_text(tmp_path / "run.json", "{}")
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'} cannot be written: No space left")
    assert caught.value.__cause__.errno == errno.ENOSPC


def test_a_second_writer_of_a_folder_is_refused_and_disturbs_nothing(tmp_path):
    folder = tmp_path / "deep" / "entry"
    with lock_folder(folder), replacing_folder(folder) as draft:
        (draft / "half").touch()
        taken = pytest.raises(UserError, match="entry is being written by another process; wait")
        with taken, lock_folder(folder), replacing_folder(folder):
            raise AssertionError
        (draft / "other half").touch()
    assert sorted(file.name for file in folder.iterdir()) == ["half", "other half"]
    assert [file.name for file in folder.parent.iterdir()] == ["entry"]
