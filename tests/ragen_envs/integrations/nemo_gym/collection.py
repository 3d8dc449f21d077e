"""NeMo Gym's own collection of rollouts, over its servers and a stub model, in one process.

Its arguments are a file of [conversation, answer] pairs, the data set, the number of repeats, and
the file to write. NEMO_GYM_EXTRA_ROOTS is the folder that `ragen-envs package` wrote.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

import uvicorn
from environment_servers.legacy_agent.app import LegacyAgentEnvironmentServer
from fastapi import FastAPI
from nemo_gym.config_types import BaseServerConfig
from nemo_gym.global_config import GlobalConfigDictParser
from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent

from tests.ragen_envs.integrations.nemo_gym.driver import response

ANSWERS, DATA, REPEATS, OUT = sys.argv[1:]
FOLDER = os.environ["NEMO_GYM_EXTRA_ROOTS"]

MODEL = {
    "policy_model": {
        "responses_api_models": {
            "openai_model": {
                "entrypoint": "app.py",
                "openai_base_url": "http://127.0.0.1",
                "openai_api_key": "none",
                "openai_model": "stub",
            }
        }
    }
}


def stub():
    """Return the model: it knows the answer to each conversation."""
    answers = {tuple(said): answer for said, answer in json.loads(Path(ANSWERS).read_text())}
    app = FastAPI()

    @app.post("/v1/responses")
    async def respond(body: dict) -> dict:
        contents = [message["content"] for message in body["input"]]
        said = [one if isinstance(one, str) else one[0]["text"] for one in contents]
        return response(answers[tuple(said)]).model_dump()

    return app


def settings(config, name):
    """Return the settings of a server by its name."""
    [[kind]] = [list(block.values()) for block in config[name].values()]
    return {**OmegaConf.to_container(kind), "name": name}


@asynccontextmanager
async def serving(config, name):
    """Serve the model and the servers of the configuration at their ports."""
    client = ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=1), global_config_dict=config
    )
    game = import_module(f"resources_servers.{name}.app").TextEnvServer
    apps = {"policy_model": stub()}
    for one, kind in (
        (name, game),
        (f"{name}_agent", GymnasiumAgent),
        (f"{name}_environment_server", LegacyAgentEnvironmentServer),
    ):
        fields = kind.model_fields["config"].annotation.model_validate(settings(config, one))
        apps[one] = kind(config=fields, server_client=client).setup_webserver()
    servers = []
    for one, app in apps.items():
        port = settings(config, one)["port"]
        servers.append(uvicorn.Server(uvicorn.Config(app, port=port, log_level="error")))
    running = [asyncio.ensure_future(server.serve()) for server in servers]
    while not all(server.started for server in servers):
        await asyncio.sleep(0.01)
    yield
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*running)


async def main():
    [path] = Path(FOLDER).glob("resources_servers/*/configs/*.yaml")
    initial = OmegaConf.create({"config_paths": [str(path)], **MODEL})
    config = GlobalConfigDictParser().parse_no_environment(initial)
    os.environ["NEMO_GYM_CONFIG_DICT"] = OmegaConf.to_yaml(config)
    options = RolloutCollectionConfig(
        input_jsonl_fpath=DATA, output_jsonl_fpath=OUT, num_repeats=int(REPEATS)
    )
    async with serving(config, path.stem):
        await RolloutCollectionHelper().run_from_config(options)


if __name__ == "__main__":
    asyncio.run(main())
