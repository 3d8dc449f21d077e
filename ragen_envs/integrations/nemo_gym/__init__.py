"""Text environments as a resources server of NeMo Gym, on its Gymnasium base class.

`ragen-envs package ID --nemo-gym` writes a server's folder with its configuration and data sets;
`lines` makes the lines of a data set. The server itself, `server.TextEnvServer`, needs nemo-gym 0.7
and Python 3.13.
"""

from ragen_envs.integrations.nemo_gym.data_set import lines
from ragen_envs.integrations.nemo_gym.package import write_package

__all__ = ["lines", "write_package"]
