"""Runs the kit on environments of other libraries, and writes what it finds.

    python -m tests.ragen_envs.peers.survey textarena gem

Each library is written to `docs/results/kit/LIBRARY.json`; without names, those run that the
development environment has.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ragen_envs.testing import Subject, run_checks

RESULTS = Path(__file__).parents[3] / "docs" / "results" / "kit"
HERE = ("gymnasium", "textarena", "gem", "reasoning_gym", "openenv", "scienceworld")
"""Libraries of the development environment."""
LIBRARIES = (*HERE, "textworld", "verifiers")


def surveyed(make: Callable[[], Subject]) -> dict[str, dict[str, str]]:
    """Return status -> check -> the first line of its message."""
    found: dict[str, dict[str, str]] = {"failed": {}, "skipped": {}, "passed": {}}
    for outcome in run_checks(make()):
        line = outcome.message.partition("\n")[0]
        found[outcome.status][outcome.name] = re.sub("0x[0-9a-f]{6,}", "0x...", line)
    return found


def why_not(make: Callable[[], Subject]) -> str | None:
    """Return why an environment cannot be made here, in a line; None if it can."""
    try:
        env = make().make_env()
        env.reset(seed=0)
        env.close()
    except Exception as error:  # noqa: BLE001 (a library may raise anything)
        plain = re.sub("\x1b\\[[0-9]*m", "", str(error))
        lines = [line.strip() for line in plain.splitlines() if line.strip(" *")]
        return f"{type(error).__name__}: {' '.join(lines[:1])}"
    return None


def survey(library: str) -> None:
    """Run the kit on a library's environments, and write what it finds after each."""
    module = import_module(f"tests.ragen_envs.peers.libraries.{library}")
    environments: dict[str, Any] = {}
    unmade = dict(getattr(module, "UNMADE", {}))
    found = {
        "package": module.PACKAGE,
        "version": version(module.PACKAGE),
        "environments": environments,
        "cannot_be_made": unmade,
    }
    for name, make in module.SUBJECTS.items():
        if reason := why_not(make):
            unmade[name] = seen = reason
        else:
            environments[name] = surveyed(make)
            seen = ", ".join(environments[name]["failed"])
        sys.stderr.write(f"{library} {name}: {seen}\n")
        text = json.dumps(found, indent=1, ensure_ascii=False)
        (RESULTS / f"{library}.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Survey the libraries that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", nargs="*", choices=[*LIBRARIES, []])
    RESULTS.mkdir(parents=True, exist_ok=True)
    for library in parser.parse_args().library or HERE:
        survey(library)


if __name__ == "__main__":
    main()
