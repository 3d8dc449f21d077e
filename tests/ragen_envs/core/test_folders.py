"""Folders that are written whole: nothing half, and nothing through a link."""

import re
from pathlib import Path

import pytest

from ragen_envs.core.folders import new_folder, replacing_folder


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


def test_what_a_killed_writer_left_of_a_folder_is_replaced(tmp_path):
    (tmp_path / ".point.draft").mkdir()
    (tmp_path / ".point.draft/half").touch()
    with replacing_folder(tmp_path / "point") as draft:
        assert not list(draft.iterdir())
    assert [file.name for file in tmp_path.iterdir()] == ["point"]


def test_a_new_folder_may_be_there_and_empty(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    with new_folder(folder) as draft:
        (draft / "file").touch()
        assert not list(folder.iterdir())
    assert [file.name for file in folder.iterdir()] == ["file"]


def test_a_folder_in_use_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path / "empty")
    for folder, words in (
        (tmp_path, f"{tmp_path} already exists and is not empty; choose another folder"),
        (tmp_path / "file", f"{tmp_path}/file already exists and is not empty; choose another"),
        (Path(), ". is the working directory; choose a folder in it"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(words)}"), new_folder(folder):
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]
