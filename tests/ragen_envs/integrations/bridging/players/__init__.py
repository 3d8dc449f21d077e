"""How answers are played through each bridge: a file a bridge, found by its name.

Each has `play(task, answers)`, which plays the answers until the episode ends and returns the first
observation with a `Step` for each answer, all as the bridge's own clients see it; and may have
`plays(task, answer)`, which says whether the bridge's interface can express an answer at all. What
the oracle and the random player answer, it can.
"""
