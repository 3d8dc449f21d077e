"""What bash completes."""

import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
SCRIPT = """
PATH="$1:$PATH"
eval "$(register-python-argcomplete "$2")"
COMP_LINE="$2 $3"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
_python_argcomplete "$2"
echo "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("program", "line", "words"),
    [
        ("ragen-bench", "eval", ["evaluate"]),
        ("ragen-bench", "evaluate random --quie", ["--quiet"]),
        ("ragen-bench", "evaluate random --suite ", ["quick", "core", "core-2", "full"]),
        ("ragen-bench", "describe SokobanN", ["SokobanNewVocab-v0"]),
        ("ragen-bench", "audit --levels 2 WebShopT", ["WebShopText-v0"]),
        ("ragen-bench", "leaderboard ch", ["check"]),
        ("ragen-train", "warm", ["warm-start"]),
    ],
)
def test_bash_completes(tmp_path, program, line, words):
    done = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", str(BIN), program, line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == words
