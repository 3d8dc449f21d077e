"""The folders of the harness import as the table in CONTRIBUTING.md says."""

import ast
import re

from tests.links import ROOT

HARNESS = ROOT / "ragen_bench"


def rows():
    """Return the folders of each row of the table, from the lowest on."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text.partition("Folders of `ragen_bench/`")[2].split("\n\n")[1].splitlines()[2:]
    return [re.findall(r"`([a-z_]+)(?:/|\.py)`", line.split("|")[1]) for line in table]


def imported(file):
    """Yield the folders that a file imports from, at its top or within a function."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "ragen_bench":
            names = [f"ragen_bench.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("ragen_bench."))


def test_each_folder_imports_from_its_own_row_and_the_rows_above():
    level = {folder: number for number, row in enumerate(rows()) for folder in row}
    files = [file for file in HARNESS.rglob("*.py") if not file.name.startswith("__")]
    folder_of = {file: file.relative_to(HARNESS).parts[0].removesuffix(".py") for file in files}
    assert set(folder_of.values()) == level.keys()
    upwards = {
        f"{file.relative_to(ROOT)} imports {other}"
        for file, folder in folder_of.items()
        for other in imported(file)
        if level[other] > level[folder]
    }
    assert upwards == set()
