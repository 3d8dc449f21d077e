"""The files and the identity of an isolated agent, which the scorer computes without an import."""

import os
import socket
import sys
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.agents import agent_files
from ragen_bench.models.agents.agent_files import find_agent_files

pytestmark = pytest.mark.slow

FILES = {
    "alone.py": "import beside\n\ndef answer(messages): ...\n",
    "beside.py": "raise SystemExit\n",
    "whole/__init__.py": "raise SystemExit\n",
    "whole/inner/__init__.py": "",
    "whole/inner/agent.py": "def answer(messages): ...\n",
    "whole/weights.bin": "w",
    "spaced/agent.py": "def answer(messages): ...\n",
    "spaced/team/__init__.py": "",
    "spaced/team/agent.py": "def answer(messages): ...\n",
    "key.txt": "the key",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def find(module, seconds=None):
    return find_agent_files(module, "answer", module, seconds)


@pytest.mark.parametrize(
    ("module", "top"),
    [
        *(("alone", "alone.py"), ("whole.inner.agent", "whole"), ("whole", "whole")),
        *(("spaced.agent", "spaced/agent.py"), ("spaced.team.agent", "spaced/team")),
        *(("whole..x", "whole"), ("whole.nothing", "whole")),
        *(("nowhere", None), ("nowhere.at.all", None), (".odd", None), ("sys", None)),
    ],
)
def test_an_agent_is_a_folder_of_its_own_or_a_file(folder, module, top):
    files = find(module)
    assert (files and files.path) == (top and folder / top)
    assert not {"alone", "whole", "beside", "spaced"} & sys.modules.keys()


@pytest.mark.parametrize(
    ("name", "text", "changes"),
    [
        ("whole/inner/agent.py", "# edited", True),
        ("whole/weights.bin", "v", True),
        ("whole/new", "", True),
        ("whole/new/", None, True),
        ("whole/__pycache__/x.pyc", "x", False),
        ("whole/.git/HEAD", "x", False),
        ("beside.py", "# edited", False),
        ("key.txt", "x", False),
    ],
)
def test_the_identity_is_of_all_that_the_agent_sees(folder, name, text, changes):
    first = find("whole.inner.agent").identity
    assert first == find("whole.inner.agent").identity
    path = folder / name
    (path if text is None else path.parent).mkdir(exist_ok=True)
    if text is not None:
        path.write_text(text)
    assert (find("whole.inner.agent").identity != first) == changes


OUT = ["../key.txt", "/proc/kmsg", "/proc/self/environ", "/dev/zero", "..", "../nowhere", "/"]


@pytest.mark.parametrize("target", OUT)
@pytest.mark.parametrize("link", ["whole/inner/data", "whole/.data", "whole/__pycache__"])
def test_links_out_of_the_folder_are_refused(folder, link, target):
    (folder / link).symlink_to(("../" if "inner" in link and target[0] == "." else "") + target)
    with pytest.raises(UserError, match=f"{link} is a link out of its folder; put the file there"):
        find("whole")


def test_a_link_inside_the_folder_is_in_the_identity(folder):
    identities = []
    for target in ("weights.bin", "inner"):
        (folder / "whole/link").symlink_to(target)
        identities.append(find("whole").identity)
        (folder / "whole/link").unlink()
    assert identities[0] != identities[1]


@pytest.mark.parametrize(
    ("link", "to", "module"),
    [
        *(("alone.py", "key.txt", "alone"), ("whole", "away", "whole.inner.agent")),
        *(("spaced", "whole", "spaced.inner.agent"), ("spaced/team", "whole", "spaced.team.inner")),
    ],
)
def test_a_linked_agent_is_refused(folder, link, to, module):
    (folder / link).rename(folder / "away")
    (folder / link).symlink_to(folder / to)
    with pytest.raises(UserError, match=f"{link}.* is a link"):
        find(module)


def test_pipes_sockets_and_devices_are_refused(folder):
    path = folder / "whole/inner/odd"
    says = f"^whole: {path} is neither a file nor a folder; remove it$"
    os.mkfifo(path)
    with pytest.raises(UserError, match=says):
        find("whole")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))
        with pytest.raises(UserError, match=says):
            find("whole")
    path.unlink()
    if os.geteuid() == 0:
        try:
            os.mknod(path, 0o020666, os.makedev(1, 5))
        except PermissionError:  # in a container
            return
        with pytest.raises(UserError, match=says):
            find("whole")


def test_number_size_depth_and_time_are_bounded(folder, monkeypatch):
    with (folder / "whole/sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UserError, match=r"^whole: sparse cannot be read: it has more than 34,359"):
        find("whole")
    (folder / "whole/sparse").unlink()
    with pytest.raises(UserError, match="it takes too long to read; --timeout S gives it more"):
        find("whole", -1.0)
    with monkeypatch.context() as changed:
        changed.setattr(agent_files, "MAX_FILES", 4)
        with pytest.raises(UserError, match=r"^whole: it has more than 4 files$"):
            find("whole")
    with monkeypatch.context() as changed:
        changed.setattr(agent_files, "_MAX_HIDDEN", 1)
        for name in (".a", "__pycache__"):
            (folder / "whole" / name).mkdir()
        with pytest.raises(UserError, match="it has more than 1 hidden files and __pycache__"):
            find("whole")
    (folder / "whole" / "/".join("d" * 70)).mkdir(parents=True)
    with pytest.raises(UserError, match="is more than 64 folders deep"):
        find("whole")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(folder):
    (folder / "whole/weights.bin").chmod(0)
    with pytest.raises(UserError, match=r"weights.bin cannot be read: Permission denied"):
        find("whole")


def test_files_of_proc_are_refused():
    with pytest.raises(OSError, match="it has another length than it says"):
        list(agent_files.read_regular("/proc/self/environ"))


@pytest.mark.parametrize("text", ["def answer(m):", "async def answer(m):", "class answer:"])
def test_other_agents_in_the_folder_are_refused(folder, text):
    (folder / "whole/other.py").write_text(f"import json\n{text}\n    ...\n")
    for module in ("whole.inner.agent", "whole.other", "whole"):
        with pytest.raises(UserError) as caught:
            find(module)
        said = str(caught.value)
        assert "defines 'answer' too, and an isolated agent sees all of its folder" in said
        assert "give each agent a folder of its own" in said
        assert "\n" not in said
    (folder / "whole/other.py").write_text("def answers(m): ...\nx = 'def answer(m)'\n")
    assert find("whole.inner.agent")


def test_a_package_may_take_its_agent_from_one_of_its_modules(folder):
    assert find("whole")
    (folder / "whole/inner/__init__.py").write_text("from whole.inner.agent import answer\n")
    assert find("whole.inner")
    (folder / "whole/inner/main.py").write_text("from .agent import answer\n")
    with pytest.raises(UserError, match="name the module that defines it"):
        find("whole.inner.main")


def test_the_working_directory_is_not_in_an_agents_folder(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(folder / "whole/inner")
    with pytest.raises(UserError, match=r"the working directory lies in .*whole, the agent's f"):
        find("whole.inner.agent")
    assert find("alone").path == Path(folder / "alone.py")
