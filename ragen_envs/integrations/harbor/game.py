#!/usr/bin/env python3
"""The command `game` of an agent's container; it needs Python alone."""

import json
import socket
import sys
from typing import Any

SOCKET = "/run/game/socket"
HELP = """usage: game             print the rules and the current state
       game RESPONSE    play one turn and print the result
       game -           play the response on standard input
"""


def ask(request: dict[str, str], path: str = SOCKET) -> Any:
    """Send a request to the game's server, and return its reply."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as reply:
            return json.loads(reply.read())


def main(words: list[str]) -> int:
    """Run the command, and return its exit code."""
    if words in (["-h"], ["--help"]):
        sys.stdout.write(HELP)
        return 0
    request: dict[str, str] = {}
    if words == ["-"]:
        request["response"] = sys.stdin.buffer.read().decode(errors="replace")
    elif words:
        request["response"] = " ".join(words).encode(errors="replace").decode()
    try:
        reply = ask(request)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"game: the game does not answer: {error}\n")
        return 1
    if "error" in reply:
        sys.stderr.write(f"game: {reply['error']}\n")
        return 1
    end = "The episode is over.\n" if reply["terminated"] or reply["truncated"] else ""
    sys.stdout.buffer.write(f"{reply['text']}\n{end}".encode(errors="replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
