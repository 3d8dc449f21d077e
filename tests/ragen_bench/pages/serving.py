"""A local page that is served while a test looks at it."""

from contextlib import contextmanager
from threading import Thread


@contextmanager
def serving(server):
    """Yield a server that answers until the block ends."""
    with server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
