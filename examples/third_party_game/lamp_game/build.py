"""Writes the val and test instances: `python -m lamp_game.build`."""

from lamp_game.spec import SPEC
from ragen_envs.cli.build_held_out import held_out_files

if __name__ == "__main__":
    for file in held_out_files([SPEC]):
        file.path.parent.mkdir(exist_ok=True)
        file.path.write_text(file.text, encoding="utf-8", newline="\n")
