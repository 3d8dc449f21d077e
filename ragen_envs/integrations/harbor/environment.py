"""An environment of Harbor that plays task folders on this machine, without Docker.

    harbor run -p tasks -a oracle -e ragen_envs.integrations.harbor.environment:GameEnvironment

Needs the extra `harbor`, Linux and bubblewrap. A command runs in a sandbox of its own, whose
processes end with it, so agents that keep a terminal open need Docker.
"""

from __future__ import annotations

from ragen_envs.core import extras

with extras.required(
    "ragen_envs.integrations.harbor.environment", "harbor", "harbor", "harbor 0.26"
):
    from harbor.environments.base import BaseEnvironment, ExecResult, transfer_tar_filter
    from harbor.environments.capabilities import EnvironmentCapabilities

import asyncio
import io
import shlex
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

from ragen_envs.integrations.harbor.sandbox import FOLDERS, sandbox_command
from ragen_envs.integrations.harbor.server import RESPONSES

_START = 60.0
"""Seconds that a game may take to start."""


class GameEnvironment(BaseEnvironment):  # type: ignore[misc]
    """The containers of a task folder: sandboxes on this machine, and a process for the game.

    The agent's has the command `game`, and the game's is the service `game`. An environment whose
    folder is `tests` is the verifier's.
    """

    @staticmethod
    def type() -> str:
        """Return the name of this kind of environment."""
        return "ragen"

    @classmethod
    def preflight(cls, kwargs: dict[str, Any] | None = None) -> None:
        """Refuse to play without bubblewrap."""
        super().preflight(kwargs)
        if shutil.which("bwrap") is None:
            raise SystemExit("GameEnvironment needs bubblewrap: apt install bubblewrap")

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """The features that Harbor may ask for: the service `game`, and no network."""
        return EnvironmentCapabilities(docker_compose=True, disable_internet=True)

    def _validate_definition(self) -> None:
        self._is_verifier = (self.environment_dir / "task.json").is_file()
        self._task = self.environment_dir / "server" / "task.json"
        if not self._is_verifier and not self._task.is_file():
            raise FileNotFoundError(
                f"{self._task} is missing; GameEnvironment plays the folders that "
                "`ragen-bench export --as harbor` writes"
            )
        self._root = Path()
        self._server: asyncio.subprocess.Process | None = None

    async def start(self, force_build: bool) -> None:  # noqa: ARG002 (Harbor's; nothing is built)
        """Make the folders of the container and start the game."""
        self._root = Path(tempfile.mkdtemp(prefix="ragen-"))
        for folder in (*FOLDERS, "/run", "/served"):
            (self._root / folder[1:]).mkdir()
        if self._is_verifier:
            tests = self._root / "tests"
            shutil.copytree(self.environment_dir, tests, dirs_exist_ok=True)
        else:
            game = shutil.copyfile(self.environment_dir / "game.py", self._root / "run" / "game")
            game.chmod(0o755)
            await self._start_game()
        await self.ensure_dirs(self._mount_targets(writable_only=True))

    async def _start_game(self) -> None:
        socket = self._root / "run" / "socket"
        program = (sys.executable, "-m", "ragen_envs.integrations.harbor.server")
        files = (self._task, socket, self._root / "served" / RESPONSES)
        self._server = await asyncio.create_subprocess_exec(
            *program, *map(str, files), stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
        )
        async with asyncio.timeout(_START):
            while not socket.exists():
                if self._server.returncode is not None:
                    assert self._server.stderr is not None
                    reason = (await self._server.stderr.read()).decode(errors="replace")
                    raise RuntimeError(reason.strip().rpartition("\n")[2])
                await asyncio.sleep(0.01)

    async def stop(self, delete: bool) -> None:  # noqa: ARG002 (Harbor's; the folders are copies)
        """End the game and remove the container's folders."""
        if self._server is not None and self._server.returncode is None:
            self._server.kill()
            await self._server.wait()
        if self._root.name:
            shutil.rmtree(self._root, ignore_errors=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,  # noqa: ARG002 (a container has one user)
    ) -> ExecResult:
        """Run a command in the container."""
        code, out, err = await self._run(command, cwd=cwd, env=env, timeout=timeout_sec)
        out_text, err_text = (data.decode(errors="replace") for data in (out, err))
        return ExecResult(stdout=out_text, stderr=err_text, return_code=code)

    async def _run(
        self,
        command: str,
        data: bytes = b"",
        *,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: float | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Return exit code, output and errors of a command that reads `data`."""
        process = await asyncio.create_subprocess_exec(
            *sandbox_command(
                self._root,
                command,
                cwd=cwd or self.task_env_config.workdir or "/app",
                variables=self._merge_env(env) or {},
                socket=None if self._is_verifier else self._root / "run" / "socket",
            ),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        try:
            async with asyncio.timeout(timeout):
                out, err = await process.communicate(data)
        except TimeoutError:
            raise RuntimeError(f"Command timed out after {timeout} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, out, err

    async def _transfer(self, command: str, data: bytes = b"") -> bytes:
        """Return the output of a command that must succeed."""
        # In the sandbox, where a link of the agent's leads to nothing outside it.
        code, out, err = await self._run(command, data)
        if code:
            raise RuntimeError(err.decode(errors="replace").strip() or f"exit code {code}")
        return out

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the container."""
        source, target = Path(source_path), shlex.quote(target_path)
        mode = f"{source.stat().st_mode & 0o777:o}"
        command = f'mkdir -p "$(dirname {target})" && cat > {target} && chmod {mode} {target}'
        await self._transfer(command, source.read_bytes())

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder's files into a folder of the container."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(source_dir, arcname=".")
        target = shlex.quote(target_dir)
        unpack = f"mkdir -p {target} && tar -xf - --no-same-owner -C {target}"
        await self._transfer(unpack, packed.getvalue())

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file of the container to this machine."""
        Path(target_path).write_bytes(await self._transfer(f"cat {shlex.quote(source_path)}"))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder of the container to this machine."""
        packed = await self._transfer(f"tar -cf - -C {shlex.quote(source_dir)} .")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(target_dir, filter=transfer_tar_filter)

    async def service_is_dir(
        self, path: str, *, service: str | None = None, user: str | int | None = None
    ) -> bool:
        """Return whether a path is a folder; the service `game` has one file."""
        return service in (None, "main") and bool(await self.is_dir(path, user=user))

    async def service_download_file(
        self, source_path: str, target_path: Path | str, *, service: str | None = None
    ) -> None:
        """Copy a file of the container or of the service `game` to this machine."""
        if self.is_main_service(service):
            await self.download_file(source_path, target_path)
        else:
            shutil.copyfile(self._root / "served" / Path(source_path).name, target_path)

    async def stop_service(self, service: str) -> None:
        """Stop a service; of the agent's container nothing runs between its commands."""
