"""The bundle's list and its packing; the whole build needs minutes and a registry."""

import importlib.metadata
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import build_gpu_bundle as bundle
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def pins(lines):
    return dict(line.split("==") for line in lines if "==" in line and line[0] != "#")


def test_the_bundle_has_the_versions_of_the_tests():
    ours = pins((ROOT / "constraints.txt").read_text().splitlines())
    packed = pins(bundle.requirements())
    assert len(packed) == len(bundle.requirements()) > 30
    shared = ours.keys() & packed.keys()
    assert shared >= {"verl", "ray", "tensordict", "TransferQueue", "gymnasium", "gguf"}
    assert {name: packed[name] for name in shared} == {name: ours[name] for name in shared}


HOST = (
    *("torch", "transformers", "accelerate", "peft", "pandas", "pyarrow", "scipy", "rich"),
    *("aiohttp", "requests", "pillow", "msgpack", "cloudpickle", "protobuf", "xxhash", "pytz"),
)
"""What the GPU host's image has, with all that these ask for."""
OPTIONAL = (
    *("backports-tarfile", "boto3", "brotli", "colorama", "colorful", "email-validator"),
    *("google-cloud-storage", "google-genai", "jsonpointer", "python-multipart", "sniffio"),
    *("opentelemetry-exporter-otlp-proto-http", "opentelemetry-exporter-prometheus"),
    *("watchfiles", "zstandard"),
)
"""What libraries import where it is installed, for other uses; with all that these ask for."""


def with_requirements(names):
    """Return the names of packages and of all that they ask for."""
    found, rest = set(), [canonicalize_name(name) for name in names]
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            try:
                asked = [*map(Requirement, importlib.metadata.requires(name) or [])]
            except importlib.metadata.PackageNotFoundError:
                continue
            rest += [
                canonicalize_name(each.name)
                for each in asked
                if each.marker is None or each.marker.evaluate({"extra": ""})
            ]
    return found


@pytest.mark.slow
def test_the_host_and_the_bundle_have_all_that_training_imports(tmp_path):
    program = Path(__file__).with_name("imported_by_training.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path], capture_output=True, text=True, check=True
    )
    imported = set(map(canonicalize_name, json.loads(done.stdout.splitlines()[-1])))
    packed = set(map(canonicalize_name, pins(bundle.requirements())))
    assert {"jsonschema", "verl", "gymnasium"} <= imported & packed
    assert not imported - packed - with_requirements((*HOST, *OPTIONAL)) - {"ragen-bench"}


@pytest.fixture
def site(tmp_path):
    site = tmp_path / "site"
    for name in ("ray/serve/a.py", "ray/core/a.py", "pack/tests/t.py", "bin/tool"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("x = 1\n")
    return site


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_debug_symbols_go_and_the_library_stays(site, tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int answer(void) { return 42; }\n")
    library = site / "ray/core/a.so"
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-o", library, source], check=True)
    before = library.stat().st_size
    bundle.strip(site)
    assert library.stat().st_size < before
    call = f"import ctypes; print(ctypes.CDLL({str(library)!r}).answer())"
    ran = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True)
    assert ran.stdout == "42\n"


def test_unused_parts_go(site):
    bundle.strip(site)
    left = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert left == {"ray/core/a.py"}


def test_equal_bytes_every_time(site, tmp_path):
    (site / "ray/core/run").write_text("#!/bin/sh\n")
    (site / "ray/core/run").chmod(0o755)
    bundle.pack(site, tmp_path / "a.tar.xz")
    for path in site.rglob("*"):
        if path.is_file():
            path.touch()
    bundle.pack(site, tmp_path / "b.tar.xz")
    assert (tmp_path / "a.tar.xz").read_bytes() == (tmp_path / "b.tar.xz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.xz") as archive:
        archive.extractall(tmp_path / "there", filter="data")
    assert (tmp_path / "there/ray/core/run").stat().st_mode & 0o111
    assert (tmp_path / "there/bin/tool").read_text() == "x = 1\n"
