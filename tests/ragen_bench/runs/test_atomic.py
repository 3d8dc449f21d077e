"""Files and folders that are written whole: nothing half, and nothing through a link."""

import errno
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.runs.atomic import lock_folder, replacing, replacing_folder, write_text


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


def interrupted(folder):
    with replacing_folder(folder) as draft:
        (draft / "half").touch()
        raise KeyboardInterrupt


def test_a_folder_keeps_what_it_has_until_the_new_one_is_complete(tmp_path):
    folder = tmp_path / "deep" / "point"
    for name in ("old", "newer"):
        with replacing_folder(folder) as draft:
            (draft / name).touch()
        with pytest.raises(KeyboardInterrupt):
            interrupted(folder)
        assert [file.name for file in folder.iterdir()] == [name]
        assert [file.name for file in folder.parent.iterdir()] == ["point"]


def test_a_folder_that_cannot_be_replaced_is_put_back(tmp_path, monkeypatch):
    folder = tmp_path / "entry"
    folder.mkdir()
    (folder / "file").write_text("old")
    rename = Path.rename

    def failing(path, target):
        if path.name.endswith(".draft"):
            raise PermissionError("no")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(PermissionError), replacing_folder(folder) as draft:
        (draft / "file").write_text("new")
    assert (folder / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


@pytest.mark.parametrize("end", ["draft", "old"])
def test_the_draft_of_a_folder_is_never_opened_through_a_link(tmp_path, end):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("precious")
    (tmp_path / f".point.{end}").symlink_to(tmp_path / "mine", target_is_directory=True)
    for name in ("one", "two"):
        with replacing_folder(tmp_path / "point") as draft:
            (draft / name).touch()
        assert [file.name for file in (tmp_path / "point").iterdir()] == [name]
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine", "point"]


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


def test_what_a_killed_writer_left_of_a_folder_is_replaced(tmp_path):
    (tmp_path / ".point.draft").mkdir()
    (tmp_path / ".point.draft/half").touch()
    with replacing_folder(tmp_path / "point") as draft:
        assert not list(draft.iterdir())
    assert [file.name for file in tmp_path.iterdir()] == ["point"]
