"""Task folders of Harbor, and an environment of Harbor that plays them without Docker.

    ragen-bench export --as harbor --env Sokoban-v0 --instances 64 --out tasks

An agent plays in a container by the command `game`, which is `game.py`. The game runs in another
container by `server.py`, which records the responses. A third one replays them by `verifier.py`.
`environment.py` runs all three on this machine, the agent's in bubblewrap.
"""
