"""Logs a run's metrics to Weights & Biases, on its server or in offline files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.reading import read_text
from ragen_bench.runs.atomic import write_text

try:
    import wandb
except ImportError as missing:
    raise missing_extra(missing, "train") from missing

_PROJECT = "ragen"
_WITHOUT_SERVER = ("offline", "dryrun", "disabled")
_SETTINGS = wandb.Settings(
    silent=True,  # the terminal shows a progress bar
    # Send metrics and the recipe, but no code, command, host name or system metrics.
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
    """A run of Weights & Biases, as a context that finishes it.

    The service's environment variables apply, as `WANDB_MODE=offline`, which only writes files,
    and `WANDB_PROJECT`. The folder `wandb` of the run directory holds the service's files and
    the run's id, with which a resumed run continues. Offline, each start writes a new folder
    there, with the same id.
    """

    def __init__(self, folder: Path, name: str, settings: Mapping[str, object]) -> None:
        self._folder, self._name, self._settings = folder, name, dict(settings)
        self._run: Any = None

    def __enter__(self) -> WandbRun:
        """Check the service's API key, and ask for one in a terminal.

        UserError if the key is missing or refused, the service does not answer, or one of
        its environment variables is invalid.
        """
        try:
            mode = wandb.setup().settings.mode
        except ValidationError as error:
            first = error.errors()[0]
            name = "_".join(map(str, ("WANDB", *first["loc"]))).upper()
            raise UserError(f"{name}: {first['msg']}") from None
        except wandb.Error as error:
            raise UserError(f"--wandb: {error}") from None
        if mode not in _WITHOUT_SERVER:
            advice = "set WANDB_MODE=offline and upload the files with `wandb sync` later"
            try:
                wandb.login()
            except wandb.errors.AuthenticationError as error:
                raise UserError(f"--wandb: {error}; correct it, or {advice}") from None
            except wandb.Error:
                raise UserError(
                    f"--wandb finds no API key: run `wandb login`, or {advice}"
                ) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._run is not None:
            self._run.finish(exit_code=int(kind is not None))

    def write(self, number: int, metrics: Mapping[str, float]) -> None:
        """Log the metrics of an iteration; the service ignores one that it has already."""
        if self._run is None:
            self._run = self._start()
        self._run.log(dict(metrics), step=number)

    def _start(self) -> Any:
        file = self._folder / "wandb" / "id.txt"
        known = read_text(file).strip() if file.is_file() else None
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
                f"--wandb: {error}; training continues, and its files hold all metrics", 1
            ) from None
        file.parent.mkdir(exist_ok=True)
        write_text(file, f"{run.id}\n")
        return run
