"""The suite's games as environments of GEM.

Needs the extra `gem`. Importing it registers the suite's ids in GEM:

    import gem
    import ragen_envs.integrations.gem
    env = gem.make("ragen:Sokoban-v0", split="test")
"""

from ragen_envs.core import extras

try:
    import gem as _gem  # type: ignore[import-untyped]
except ModuleNotFoundError as missing:
    if missing.name != "gem":
        raise
    raise extras.missing("ragen_envs.integrations.gem", "gem", "gem") from None

from ragen_envs.integrations.gem.env import GemEnv
from ragen_envs.registration import IDS

__all__ = ["GemEnv"]

for _id in IDS:
    _gem.register(_id.replace("/", ":"), "ragen_envs.integrations.gem:GemEnv", env=_id)
