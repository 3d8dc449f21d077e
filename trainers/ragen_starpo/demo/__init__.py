"""From nothing to trained agents on two cores: the commands of `ragen-train demo`."""
