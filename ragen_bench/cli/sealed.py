"""`sealed`: makes and checks the keys of sealed splits, for the host of a benchmark."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.command_line import Argument, Command, Group, Option
from ragen_bench.errors import UserError
from ragen_bench.visible import write_out

_is_hash = re.compile(r"[0-9a-f]{64}").fullmatch


@dataclass(frozen=True, kw_only=True)
class New(Command):
    """Writes a new key to a file that only its owner may read, and prints the key's hash."""

    file: Annotated[Path, Argument("FILE")]
    event: Annotated[str, Option("NAME", "event that the key is for; part of its hash")]

    def run(self) -> int:
        """Write the file; an existing one is kept, since a lost key cannot be restored."""
        from ragen_envs.core.sealed import KEY_FILE_VARIABLE, key_hash, new_key

        if not self.event:
            raise UserError("--event is empty; name the event that the key is for")
        key = new_key(self.event)
        try:
            descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise UserError(f"{self.file} exists already; choose another file") from None
        with os.fdopen(descriptor, "w", encoding="ascii") as key_file:
            key_file.write(key + "\n")
        write_out(
            f"Key file  {self.file} (keep it secret until the event is over)\n"
            f"Hash      {key_hash(key)} (publish it now)\n"
            f"Use       {KEY_FILE_VARIABLE}={self.file} ragen-bench evaluate MODEL --split sealed\n"
        )
        return 0


@dataclass(frozen=True)
class Hash(Command):
    """Prints the hash of a key, to be published.

    A key that was not drawn at random is refused.
    """

    file: Annotated[Path, Argument("FILE")]

    def run(self) -> int:
        """Print the hash."""
        from ragen_envs.core.sealed import check_drawn, key_hash, read_key_file

        key = read_key_file(self.file)
        check_drawn(key, str(self.file))
        write_out(f"{key_hash(key)}\n")
        return 0


@dataclass(frozen=True)
class Check(Command):
    """Compares a published key with the hash that was published before it."""

    file: Annotated[Path, Argument("FILE")]
    hash: Annotated[str, Argument("HASH")]

    def run(self) -> int:
        """Print whether the key has this hash; return 1 if it has another."""
        from ragen_envs.core.sealed import event_of, key_hash, read_key_file

        published = self.hash.strip().lower()
        if not _is_hash(published):
            raise UserError(f"{self.hash!r} is not the hash of a key, which is 64 hex digits")
        key = read_key_file(self.file)
        actual = key_hash(key)
        if actual != published:
            write_out(f"NOT the key: its hash is {actual}\n")
            return 1
        event = event_of(key)
        purpose = f"for the event {event}" if event else "without an event"
        write_out(f"The key of the hash {actual}, {purpose}\n")
        return 0


SEALED = Group(
    "Keys of the sealed split: make one, publish its hash, check it afterwards.\n\n"
    "A host makes a key, publishes its hash before an event and the key after it.",
    {"new": New, "hash": Hash, "check": Check},
)
