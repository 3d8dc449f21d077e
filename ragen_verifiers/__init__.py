"""The plugin `ragen-verifiers`; verifiers finds plugins by the names of top-level modules."""

from ragen_envs.integrations.verifiers import TextEnvHarness, TextEnvTaskset, TextGameEnv

__all__ = ["TextEnvHarness", "TextEnvTaskset", "TextGameEnv"]
