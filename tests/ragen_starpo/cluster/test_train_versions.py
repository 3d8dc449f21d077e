"""What rollouts by vLLM are installed with: resolved as it would be, and checked before a run."""

import importlib.metadata
import subprocess
import sys

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ragen_bench.errors import UserError
from ragen_starpo.cluster.vllm_checks import WITH_VLLM, check_versions
from tests.links import ROOT

CONSTRAINTS = "constraints-train-gpu.txt"
RESOLVE = (
    *("uv", "pip", "compile", "pyproject.toml", "--extra", "train-gpu", "-c", CONSTRAINTS),
    *("--python-platform", "x86_64-manylinux_2_31", "--python-version", "3.11"),
    *("--no-header", "--no-annotate", "--no-config", "-q"),
    # No wheel of it was ever published; everything else is to have one.
    *("--only-binary", ":all:", "--no-binary", "antlr4-python3-runtime"),
)


def pins():
    lines = (ROOT / CONSTRAINTS).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_the_extra_and_its_constraints_resolve_to_what_they_pin():
    """For Linux and CUDA, by metadata alone: nothing is installed."""
    done = subprocess.run(
        [sys.executable, "-m", *RESOLVE], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == pins()


def test_the_versions_that_are_checked_are_verls_and_the_pinned_ones():
    pinned = dict(line.split("==") for line in pins())
    required = [Requirement(line) for line in importlib.metadata.requires("verl")]
    for name, wanted in WITH_VLLM.items():
        assert SpecifierSet(wanted).contains(pinned[name]), name
    [general] = [asked for asked in required if asked.name == "transformers" and not asked.marker]
    # What verl takes, and the newer ones that have run on a GPU.
    ours = SpecifierSet(WITH_VLLM["transformers"])
    for version in ("5.5.2", "5.5.3", "5.6.0", "5.6.1", "5.10.9"):
        assert ours.contains(version) == general.specifier.contains(version)
    assert ours.contains("5.17.0")
    assert not ours.contains("5.18.0")
    extra = [asked for asked in required if asked.marker and 'extra == "vllm"' in str(asked.marker)]
    theirs = {asked.name: asked.specifier for asked in extra}
    for name in ("vllm", "torch"):
        assert SpecifierSet(WITH_VLLM[name]) == theirs[name]
    assert theirs["transformers"].contains(pinned["transformers"])


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts packages of these versions before the ones that are really installed."""

    def install(**versions):
        for name, version in versions.items():
            folder = tmp_path / f"{name}-{version}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            )
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_versions_that_fit(installed):
    installed(verl="0.9.1", vllm="0.24.0+cu130", torch="2.11.0+cu130", transformers="5.17.0")
    check_versions()


def test_versions_that_do_not_fit_are_named_in_one_line(installed):
    installed(verl="0.9.1", vllm="0.32.0", torch="2.11.0", transformers="5.6.0")
    with pytest.raises(UserError) as refused:
        check_versions()
    assert str(refused.value) == (
        "cluster.engine=vllm needs vllm==0.24.0 (0.32.0 installed) and "
        "transformers>=5.5.3,!=5.6.0,<5.18 (5.6.0 installed): in a checkout pip install "
        "-c constraints-train-gpu.txt '.[train-gpu]' in an environment of its own; or set "
        "cluster.engine=hf"
    )
