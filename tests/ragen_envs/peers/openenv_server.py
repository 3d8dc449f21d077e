"""A server of the environment that `openenv init` writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import uvicorn

from ragen_envs.integrations.openenv.served import listen, url_of

NAME = "echo_of_openenv"


@contextmanager
def echo() -> Iterator[str]:
    """Write the environment, serve it on a free port, and give the address.

    The written application takes one session at a time, and says which number to raise for more.
    """
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "openenv.cli", "init", NAME]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        written = Path(folder, NAME, "server", "app.py")
        code = written.read_text(encoding="utf-8")
        one, many = "max_concurrent_envs=1,", "max_concurrent_envs=64,"
        assert one in code
        written.write_text(code.replace(one, many), encoding="utf-8")
        sys.path.insert(0, folder)
        try:
            module = import_module(f"{NAME}.server.app")
        finally:
            sys.path.remove(folder)
        with _served(module.app) as url:
            yield url


@contextmanager
def _served(application: Any) -> Iterator[str]:
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(application, log_level="error"))
    thread = Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield url_of(listening)
    finally:
        server.should_exit = True
        thread.join()
