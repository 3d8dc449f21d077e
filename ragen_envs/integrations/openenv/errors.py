"""The two errors of a session, whose texts are written for its client."""


class RefusedError(ValueError):
    """The client asked for what cannot be had."""


class FailedError(RuntimeError):
    """The environment raised an error; its text is kept from the client."""
