"""Answers lines of JSON in the environment of NeMo Gym: episodes, and what code prints."""

import asyncio
import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from unittest.mock import MagicMock

from fastapi import HTTPException
from nemo_gym.openai_utils import (
    NeMoGymResponse,
    NeMoGymResponseOutputMessage,
    NeMoGymResponseOutputText,
)
from nemo_gym.server_utils import ServerClient

from ragen_envs.integrations.nemo_gym.server import TextEnvServer, TextEnvServerConfig

SESSION = "played"


def made(**settings):
    """Return a server that no other one calls."""
    config = TextEnvServerConfig(host="", port=0, entrypoint="", name="games", **settings)
    return TextEnvServer(config=config, server_client=MagicMock(spec=ServerClient))


def response(text):
    """Return a model's response with one text."""
    part = NeMoGymResponseOutputText(annotations=[], text=text, type="output_text")
    message = NeMoGymResponseOutputMessage(id="m", content=[part])
    return NeMoGymResponse(
        id="r",
        created_at=0.0,
        model="stub",
        object="response",
        output=[message],
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )


async def play(server, line, answers):
    """Return the first observation, and the reply to each answer."""
    first, _ = await server.reset(line, SESSION)
    replies = [await server.step(response(answer), line, SESSION) for answer in answers]
    await server.close_session(SESSION)
    return first, replies


def answered(server, question):
    """Return what a question asks for, or the words of the refusal."""
    try:
        if "code" in question:
            with redirect_stdout(StringIO()) as printed:
                exec(question["code"], {"made": made, "response": response})
            return printed.getvalue()
        return asyncio.run(play(server, question["line"], question["answers"]))
    except HTTPException as error:
        return {"refused": error.detail, "status": error.status_code}


def main():
    server = made()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answered(server, json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
