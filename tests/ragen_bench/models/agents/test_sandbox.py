"""What an isolated agent may read of the folder that holds it."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.agents.sandbox import find_agent_files, sandbox_command

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
