"""An extra names each package whose absence its modules answer with the extra's name."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions

from .links import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


BROUGHT = {"pandas"}
"""Needed by the package that its extra is called after, datasets, on every platform."""


def requirements(extra):
    """The distributions that an extra names, those of its own extras included."""
    found = set()
    for line in EXTRAS[extra]:
        name, inner = re.match(r"([\w-]+)(?:\[([\w,-]+)\])?", line).groups()
        if name == "ragen-bench":
            found.update(*map(requirements, inner.split(",")))
        found.add(name.lower())
    return found


def guarded_imports():
    """File, package and extra of each import of which a `missing_extra` speaks."""
    for path in sorted((ROOT / "ragen_bench").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            source = "".join(map(ast.unparse, node.handlers)) if isinstance(node, ast.Try) else ""
            if extra := re.search(r"missing_extra\(\w+, '([\w-]+)'\)", source):
                names = [each.names for each in node.body if isinstance(each, ast.Import)]
                names += [[each] for each in node.body if isinstance(each, ast.ImportFrom)]
                for name in (each for group in names for each in group):
                    module = name.module if isinstance(name, ast.ImportFrom) else name.name
                    if not module.startswith("ragen_"):
                        yield path.name, module.partition(".")[0], extra[1]


def test_extras_name_what_their_modules_import():
    distributions = packages_distributions()
    found = [each for each in guarded_imports() if each[1] not in BROUGHT]
    assert len(found) > 4
    for path, module, extra in found:
        names = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
        assert names & requirements(extra), (path, module, extra)
