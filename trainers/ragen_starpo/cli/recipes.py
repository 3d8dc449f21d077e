"""`recipes`: lists the recipes of the package, or prints one in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ragen_bench.command_line import Argument, Command


@dataclass(frozen=True, kw_only=True)
class Recipes(Command):
    """Lists the recipes and the rows of the papers' tables, or prints all settings of one."""

    extra: ClassVar[str] = "train"

    recipe: Annotated[str | None, Argument("RECIPE", "such as small, or grpo@gpu")] = None
    settings: Annotated[
        tuple[str, ...], Argument("NAME=VALUE", "override a setting of the recipe, as seed=1")
    ] = ()

    def run(self) -> int:
        """Print the table of rows, or all settings of one recipe as TOML."""
        from rich.table import Table

        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.recipes.files import as_toml, presets, scales, sweeps
        from ragen_starpo.recipes.recipe import read_recipe

        console = plain_console()
        if self.recipe:
            settings = read_recipe(self.recipe, self.settings).as_json()
            console.print(as_toml(settings), end="", soft_wrap=True)
            return 0
        table = Table(box=None, pad_edge=False)
        table.add_column("rows")
        table.add_column("description", overflow="fold")
        for group in sweeps().values():
            table.add_row(" ".join(group["rows"]), group["about"])
        console.print(table)
        console.print(f"\nScales: {' '.join(scales())}. A row at a scale: filter-50@small;")
        console.print("several rows: grpo+filter-50@small. All settings: ragen-train recipes NAME")
        console.print(f"\nRecipes without rows: {' '.join(presets())}")
        return 0
