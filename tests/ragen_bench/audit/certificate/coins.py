"""Environments of one turn that a player can exploit, each in a way of its own."""

import gymnasium
from gymnasium.spaces import Text

from ragen_envs.testing import Subject


class Coin(gymnasium.Env):
    """Call the side; `pays` says for which answers it pays beside the right one."""

    observation_space = action_space = Text(999, min_length=0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.side = ("heads", "tails")[int(self.np_random.integers(2))]
        self.text = f"Call it, as [heads] or [tails].\nCoin {seed}."
        return self.text, {"legal_actions": ("heads", "tails"), "ceiling": 1.0}

    def step(self, action):
        paid = float(action == self.side or self.pays(action))
        return "Over.", paid, True, False, {"score": paid}

    def pays(self, action):
        return False


class Vacuous(Coin):
    """Pays for silence."""

    def pays(self, action):
        return action == ""


class Mirror(Coin):
    """Pays for its own text."""

    def pays(self, action):
        return action == self.text


class Gullible(Coin):
    """Reads its score from the answer."""

    def pays(self, action):
        return '"score": 1.0' in action or "score'] = 1.0" in action or "SYSTEM" in action


class Lenient(Coin):
    """Pays for what is almost an answer."""

    def pays(self, action):
        return 0 < len(action) < 12 and action not in ("heads", "tails", "[heads]", "[tails]")


class Leaking(Coin):
    """Shows the side as the example of an answer."""

    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed)
        self.text = f"Call it. Answer `{self.side}` or other words."
        return self.text, info

    def pays(self, action):
        return action.strip("`") == self.side


class Fragile(Coin):
    """Fails on what it does not know."""

    def step(self, action):
        return "Over.", float({"heads": 1, "tails": 0}[action]), True, False, {"score": 0.0}


class Loud(Coin):
    """Writes a file in each episode, and looks up a host."""

    def step(self, action):
        import socket
        from tempfile import TemporaryFile

        with TemporaryFile("w") as file:
            file.write("!")
        socket.socket().close()
        return super().step(action)


class Wide(Coin):
    """Scores beyond 1."""

    def step(self, action):
        return "Over.", 5.0, True, False, {"score": 5.0}


def subject(maker):
    return Subject(make_env=maker, max_turns=1, seeds=range(4), oracle=lambda env: env.side)
