"""Servers on free ports of this process, for the owner's clients."""

import asyncio
import socket
from contextlib import asynccontextmanager, contextmanager
from threading import Thread

from openenv.core import GenericEnvClient

from ragen_envs.integrations.openenv import app
from ragen_envs.integrations.openenv.served import listen, url_of
from ragen_envs.integrations.openenv.server import server_of


@contextmanager
def running(served, *more, **named):
    """Serve an application, or what `app` takes, in a thread, and give the address."""
    listening = listen("127.0.0.1", 0)
    application = app(served, *more, **named) if isinstance(served, str) else served
    server = server_of(application)
    thread = Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield url_of(listening)
    finally:
        server.should_exit = True
        thread.join()


@asynccontextmanager
async def beside(*served, **named):
    """Serve what `app` takes in the loop that runs, and give the address."""
    listening = listen("127.0.0.1", 0)
    server = server_of(app(*served, **named))
    task = asyncio.create_task(server.serve([listening]))
    try:
        yield url_of(listening)
    finally:
        server.should_exit = True
        await task


@contextmanager
def client(url, **named):
    """Connect the owner's client."""
    with GenericEnvClient(base_url=url, **named).sync() as connected:
        yield connected


def vanish(connected):
    """Cut a client's connection without a farewell, as a machine that goes down does."""
    transport = connected.async_client._ws.transport
    transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
