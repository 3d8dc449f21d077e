"""TextArena's Secretary as the testing kit takes it: how to answer, and how long it lasts."""

from ragen_envs.testing import Subject

subject = Subject(
    make_env="ragen_envs.textarena:ragen_textarena/Secretary-v0",
    answers=["[accept]", "[continue]"],
    max_turns=12,
    seeds=range(4),
)
