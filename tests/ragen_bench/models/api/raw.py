"""A server that sends the bytes it is told to, whatever it is asked."""

import contextlib
import socket
import threading


class Raw:
    """Says the same in each connection.

    Attributes:
        url: the base URL.
        asked: the beginnings of requests.
    """

    def __init__(self, listening, payload):
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        self.asked = []
        self._listening, self._payload = listening, payload

    def serve(self):
        with contextlib.suppress(OSError):  # the end of the test
            while True:
                connection, _ = self._listening.accept()
                with connection, contextlib.suppress(ConnectionError):
                    self.asked.append(connection.recv(65536))
                    connection.sendall(self._payload)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):  # unread bytes would reset the connection
                        pass


@contextlib.contextmanager
def replying(payload):
    """Yield a server that sends a payload and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Raw(listening, payload)
        threading.Thread(target=server.serve, daemon=True).start()
        yield server
        listening.shutdown(socket.SHUT_RDWR)


def reply(body=b"{}", status="200 OK", **headers):
    """Return a payload."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines])
    return head.encode() + b"\r\n\r\n" + body
