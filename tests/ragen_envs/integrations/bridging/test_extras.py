"""A bridge whose package is missing says in one line which extra brings it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BRIDGES = {"gem": ("gem", "gem"), "skyrl_gym": ("skyrl_gym", "skyrl"), "trl": ("trl", "trl")}


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_missing_package_is_named_in_one_line(bridge):
    package, extra = BRIDGES[bridge]
    code = f"import sys; sys.modules[{package!r}] = None; import ragen_envs.integrations.{bridge}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "During handling" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: ragen_envs.integrations.{bridge} needs {package}: "
        f"pip install 'ragen-bench[{extra}]' (in a checkout: pip install '.[{extra}]')"
    )


def test_a_bridge_warns_of_other_versions_than_those_of_the_tests():
    root = Path(__file__).parents[4]
    sources = (root / "ragen_envs" / "integrations").rglob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    found = re.findall(r'required\([^)]*"([\w-]+) ([\d.]+)",?\s*\)', text)
    pins = "\n".join(path.read_text() for path in root.glob("constraints*.txt"))
    assert len(found) == 6
    for package, version in found:
        assert f"\n{package}=={version}." in pins


def test_the_suite_alone_imports_no_bridge():
    code = "import sys, ragen_envs, ragen_envs.integrations.bridging, ragen_envs.core.tools; "
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {package for package, _ in BRIDGES.values()} & set(done.stdout.split())
