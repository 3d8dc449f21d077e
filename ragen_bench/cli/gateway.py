"""`gateway`: a server that plays instances for trainers and agents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.command_line import Command, Option
from ragen_bench.visible import write_out


@dataclass(frozen=True, kw_only=True)
class Gateway(Command):
    """Plays instances for trainers and agents that speak OpenAI's protocol.

    Plays an episode through each base URL that it is given, or is the game's side of one
    conversation per API key. At the end it posts the reward, and appends the episode to a file.
    """

    extra = "openai"
    examples = ("ragen-bench gateway --env Sokoban-v0 --split train --listen 127.0.0.1:8010",)

    env: Annotated[str, Option("ID", "the environment, MODULE:ID for a third-party one")]
    split: Annotated[str, Option("NAME", "train, val or test")] = "train"
    listen: Annotated[str, Option("ADDRESS", "127.0.0.1:PORT; port 0 is a free one")] = (
        "127.0.0.1:0"
    )
    out: Annotated[Path, Option("FILE", "file of the episodes; a later start goes on with it")] = (
        Path("gateway.jsonl")
    )
    post: Annotated[
        str | None, Option("URL", "where rewards are posted that a request names no URL for")
    ] = None
    format: Annotated[str, Option("NAME", "think, answer or plain")] = "think"
    temperature: Annotated[float, Option("T", "sampling temperature")] = 1.0
    max_tokens: Annotated[int, Option("N", "tokens per response")] = 512
    timeout: Annotated[float, Option("S", "seconds until a silent endpoint or agent ends")] = 600.0
    retries: Annotated[int, Option("N", "retries of a failed request to an endpoint")] = 7

    def run(self) -> int:
        """Serve until Ctrl-C, then print the summary."""
        from ragen_bench.gateway.server import GatewayServer, parse_address
        from ragen_bench.gateway.table import make_settings

        port = parse_address(self.listen)
        settings = make_settings(
            self.env,
            self.split,
            self.format,
            out=self.out,
            post=self.post or "",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            timeout=self.timeout,
            retries=self.retries,
        )
        server = GatewayServer(settings, port)
        try:
            server.serve("Play")
        finally:
            summary = server.table.results.summary()
            shown = {name: "-" if value is None else value for name, value in summary.items()}
            write_out(
                "{episodes} episodes, {given_up} given up, mean reward {reward}, "
                "success {success}; all are in {out}\n".format_map({**shown, "out": self.out})
            )
        return 0
