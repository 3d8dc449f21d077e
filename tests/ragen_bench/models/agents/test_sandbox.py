"""What an isolated agent may read of the folder that holds it, and the filter of system calls.

The filter is run by an interpreter of its own for each machine.
"""

import errno
import struct
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.agents.sandbox import (
    MACHINES,
    find_agent_files,
    make_filter,
    sandbox_command,
)

pytestmark = pytest.mark.slow

FILES = {
    "alone.py": "import json\nimport beside\nfrom kit import tools\n",
    "beside.py": "def late():\n    import deeper.below\n",
    "deeper/below.py": "",
    "kit/__init__.py": "",
    "kit/tools.py": "",
    "kit/unused.py": "",
    "whole/__init__.py": "",
    "whole/inner/__init__.py": "",
    "whole/inner/agent.py": "import beside\n",
    "whole/weights.bin": "",
    "spaced/agent.py": "",
    "key.txt": "",
    "runs/oracle/episodes.jsonl": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.mark.parametrize(
    ("module", "files"),
    [
        ("alone", ["alone.py", "beside.py", "deeper/below.py", "kit/__init__.py", "kit/tools.py"]),
        ("whole.inner.agent", ["beside.py", "deeper/below.py", "whole"]),
        ("whole", ["whole"]),
        ("spaced.agent", ["spaced"]),
        *(
            ("sys", []),
            ("nowhere", []),
            ("nowhere.at.all", []),
            (".odd", []),
            ("whole..x", ["whole"]),
        ),
    ],
)
def test_agent_files_are_found_without_an_import(folder, module, files):
    assert [*find_agent_files(module, module)] == [folder / name for name in files]
    assert not {"alone", "whole", "beside"} & sys.modules.keys()


@pytest.mark.parametrize(
    ("link", "to", "module"),
    [
        ("alone.py", "key.txt", "alone"),
        ("beside.py", "key.txt", "alone"),
        ("whole", "runs", "whole.agent"),
        ("deeper", "whole", "alone"),
    ],
)
def test_links_are_refused(folder, link, to, module):
    (folder / link).rename(folder / "away")
    (folder / link).symlink_to(folder / to)
    if link == "deeper":
        (folder / "whole/below.py").touch()
    with pytest.raises(UserError, match=f"{link}.* is a link"):
        find_agent_files(module, module)


@pytest.mark.parametrize("place", ["whole/key.txt", "whole/inner/agent.py"])
def test_the_sealed_key_is_not_shown(folder, monkeypatch, place):
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", place)
    with pytest.raises(UserError, match=f"could read the sealed key {place}, which is in .*whole"):
        sandbox_command(["python"], find_agent_files("whole", "m"), "m", 9)
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", "key.txt")
    command = sandbox_command(["python"], find_agent_files("whole", "m"), "m", 9)
    shown = [Path(path) for option, path in pairwise(command) if option.startswith("--ro-bind")]
    assert folder / "whole" in shown
    assert not [path for path in shown if path in (folder / "key.txt").parents]


ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# From the kernel's tables: asm/unistd_64.h, asm-generic/unistd.h.
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
READ = {"x86_64": 0, "aarch64": 63}
FORKS = {"x86_64": (57, 58), "aarch64": ()}
PTRACE, UNSHARE = {"x86_64": 101, "aarch64": 117}, {"x86_64": 272, "aarch64": 97}
THREAD = 0x3D0F00  # what the C library asks for a thread
CHILD = 0x1200011  # and for fork


def verdict(program, arch, number, first=0):
    data = struct.pack("=IIQ6Q", number, arch, 0, first, *[0] * 5)
    steps = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            [value] = struct.unpack_from("=I", data, k)
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            at += yes if holds else no


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_may_be_started_and_processes_not(machine):
    program, arch = make_filter(machine), ARCH[machine]
    assert verdict(program, arch, READ[machine]) == ALLOW
    assert verdict(program, arch, CLONE[machine], THREAD) == ALLOW
    refused = ERROR | errno.EPERM
    assert verdict(program, arch, CLONE[machine], CHILD) == refused
    for number in (*FORKS[machine], PTRACE[machine], UNSHARE[machine]):
        assert verdict(program, arch, number) == refused
    assert verdict(program, arch, CLONE3) == ERROR | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_system_calls_of_another_abi_end_the_process(machine):
    program = make_filter(machine)
    assert verdict(program, 0x40000003, READ[machine]) == KILL
    assert verdict(program, ARCH[machine], 0x40000000 | 57) == KILL
