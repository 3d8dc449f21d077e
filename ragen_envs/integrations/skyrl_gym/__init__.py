"""The suite's games as environments of SkyRL-Gym.

Needs the extra `skyrl`. Importing it registers the suite's ids in SkyRL-Gym, and the id "ragen" for
any other text environment of Gymnasium's registry:

    import skyrl_gym
    import ragen_envs.integrations.skyrl_gym
    env = skyrl_gym.make("ragen/Sokoban-v0", env_config={}, extras={"seed": 0})
"""

from ragen_envs.core import extras

try:
    import skyrl_gym as _skyrl_gym  # type: ignore[import-untyped]
except ModuleNotFoundError as missing:
    if missing.name != "skyrl_gym":
        raise
    raise extras.missing("ragen_envs.integrations.skyrl_gym", "skyrl_gym", "skyrl") from None

from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.integrations.skyrl_gym.env import SkyRLEnv, rows
from ragen_envs.registration import IDS

__all__ = ["SkyRLEnv", "rows"]

for _id in IDS:
    _skyrl_gym.register(_id, "ragen_envs.integrations.skyrl_gym:SkyRLEnv", {"env": _id})
_skyrl_gym.register(NAMESPACE, "ragen_envs.integrations.skyrl_gym:SkyRLEnv")
