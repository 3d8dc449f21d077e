"""`recipes`: what comes with the package, and one recipe in full."""

from __future__ import annotations

import argparse

from rich.table import Table

from ragen_bench.console.plain import plain_console
from ragen_starpo.recipes.files import alone, as_toml, scales, sweeps
from ragen_starpo.recipes.recipe import read_recipe


def run_recipes(given: argparse.Namespace) -> int:
    """Print the table of rows, or all settings of one recipe as TOML.

    Raises:
        UserError: if there is no such recipe.
    """
    console = plain_console()
    if given.recipe:
        settings = read_recipe(given.recipe, given.settings).as_json()
        console.print(as_toml(settings), end="", soft_wrap=True, markup=False, highlight=False)
        return 0
    table = Table(box=None, pad_edge=False)
    table.add_column("rows")
    table.add_column("what", overflow="fold")
    for group in sweeps().values():
        table.add_row(" ".join(group["rows"]), group["about"])
    console.print(table)
    console.print(f"\nScales: {' '.join(scales())}. A row at a scale: filter-50@small;")
    console.print("several rows: grpo+filter-50@small. All settings: ragen-train recipes NAME")
    console.print(f"\nRecipes without rows: {' '.join(alone())}")
    return 0
