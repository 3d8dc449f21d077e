"""A run's figures as Weights & Biases shows them, on its server or in files for later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.runs.atomic import write_text

try:
    import wandb
except ImportError as missing:
    raise missing_extra(missing, "train") from missing

_PROJECT = "ragen"
_WITHOUT_SERVER = ("offline", "dryrun", "disabled")
_SETTINGS = wandb.Settings(
    silent=True,  # a progress bar has the terminal
    # Figures and the recipe are told, not the code, the command, or what the machine is called and
    # busy with.
    host="",
    console="off",
    disable_git=True,
    disable_code=True,
    x_disable_machine_info=True,
    x_disable_meta=True,
    x_disable_stats=True,
    x_save_requirements=False,
)


class WandbRun:
    """Tells figures as those of a run.

    To be used as a context, which ends when all is told. The service's own environment variables
    count, as `WANDB_MODE=offline`, which writes files alone, and `WANDB_PROJECT`.

    Args:
        folder: of the run directory; the service's files go to its folder `wandb`, and there the
            run's id is kept, by which a resumed run goes on. Without the service, each start has a
            folder of files of its own there, all of that id.
        name: of the run.
        settings: all of the recipe.
    """

    def __init__(self, folder: Path, name: str, settings: Mapping[str, Any]) -> None:
        self._folder, self._name, self._settings = folder, name, dict(settings)
        self._run: Any = None

    def __enter__(self) -> WandbRun:
        """See whether the service takes its key, and ask for one in a terminal.

        Raises:
            UserError: if there is none, it is refused, the service does not answer, or one of its
                environment variables is wrong.
        """
        if _mode() not in _WITHOUT_SERVER:
            _log_in()
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if self._run is not None:
            self._run.finish(exit_code=int(kind is not None))

    def write(self, number: int, figures: Mapping[str, float]) -> None:
        """Tell an iteration.

        Args:
            number: of the iteration, from 0 on. The service passes over one that it has.
            figures: by name.

        Raises:
            UserError: if the service does not answer.
        """
        if self._run is None:
            self._run = self._begun()
        self._run.log(dict(figures), step=number)

    def _begun(self) -> Any:
        """Return the service's run, a new one or the one of an earlier start."""
        file = self._folder / "wandb" / "id.txt"
        known = file.read_text(encoding="utf-8").strip() if file.is_file() else None
        try:
            run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", _PROJECT),
                dir=str(self._folder),
                name=self._name,
                config=self._settings,
                id=known,
                resume="allow",
                settings=_SETTINGS,
            )
        except wandb.Error as error:
            raise UserError(
                f"--wandb: {error}; the run goes on without, and its files have all figures", 1
            ) from None
        file.parent.mkdir(exist_ok=True)
        write_text(file, f"{run.id}\n")
        return run


def _mode() -> str:
    """Return how the service is used, as its environment variables say."""
    try:
        return str(wandb.setup().settings.mode)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(map(str, ("WANDB", *first["loc"]))).upper()
        raise UserError(f"{name}: {first['msg']}") from None
    except wandb.Error as error:
        raise UserError(f"--wandb: {error}") from None


def _log_in() -> None:
    without = "set WANDB_MODE=offline and send the files with `wandb sync` later"
    try:
        wandb.login()
    except wandb.errors.AuthenticationError as error:
        raise UserError(f"--wandb: {error}; mend that, or {without}") from None
    except wandb.Error:
        raise UserError(f"--wandb finds no key: type `wandb login`, or {without}") from None
