"""Valid and invalid random players."""

NUMBER = 3


def digit(observations, generator):
    """Guess a digit that was not guessed before."""
    assert "guess a digit" in observations[0]
    guessed = {observation[0] for observation in observations[1:]}
    return generator.choice([digit for digit in "0123456789" if digit not in guessed])


def never(observations, generator):
    return f"no digit, turn {len(observations)}: {generator.random()}"


def number(observations, generator):
    return 3


def raising(observations, generator):
    raise ValueError("it broke\nhere")


async def later(observations, generator):
    return "3"


def __getattr__(name):
    if name == "hidden":
        raise RuntimeError("not for you")
    raise AttributeError(name)


class Player:
    """Not a function."""
