"""A stub of a hosted API, which refuses what it is told to refuse, and counts what it is asked."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = "o9-mini"
ANSWER = "<think>up</think><answer>Up</answer>"


def is_probe(body):
    """Return whether a request only counts a prompt."""
    return 1 in (body.get("max_tokens"), body.get("max_completion_tokens"))


class Hosted:
    """Serves one model.

    Attributes:
        url: the base URL.
        refuses: from a request's body to a status and an error, or None.
        listing: a status and the list of models.
        bodies: the requests for answers, also those that were refused.
        probes: the requests for answers of one token, which count prompts.
        headers: theirs.
        paths: where they were sent.
        retry_after: the header of refusals.
        answer: what it says.
        shows: what it has next to the API: from a path to a function of a request's body.
    """

    def __init__(self, url):
        self.url = url
        self.refuses = lambda body: None
        self.listing = 200, {"data": [{"id": NAME, "owned_by": "hosted"}]}
        self.bodies, self.headers, self.paths = [], [], []
        self.probes = []
        self.retry_after = None
        self.answer = ANSWER
        self.shows = {}

    def reply(self, body):
        if refusal := self.refuses(body):
            status, error = refusal
            return status, self.error(status, error)
        return 200, self.said()

    def error(self, status, error):
        return {"error": error}

    def said(self):
        message = {"role": "assistant", "content": self.answer}
        usage = {"prompt_tokens": 11, "completion_tokens": 7}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return {"id": "1", "object": "chat.completion", "choices": choices, "usage": usage}


class Anthropic(Hosted):
    """Speaks the Messages protocol."""

    thoughts = ""
    ended = "end_turn"
    has_content = True

    def __init__(self, url):
        super().__init__(url.removesuffix("/v1"))

    def error(self, status, error):
        return {"type": "error", "error": {"type": "invalid_request_error", **error}}

    def said(self):
        content = [{"type": "text", "text": self.answer}]
        if self.thoughts:
            content.insert(0, {"type": "thinking", "thinking": self.thoughts, "signature": "x"})
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": NAME,
            "content": content if self.has_content else [],
            "stop_reason": self.ended,
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }


class Google(Hosted):
    """Speaks the protocol of the Gemini API."""

    thoughts = ""
    ended = "STOP"
    has_content = True

    def __init__(self, url):
        super().__init__(url.removesuffix("/v1"))

    def error(self, status, error):
        return {"error": {"code": status, "status": "INVALID_ARGUMENT", **error}}

    def said(self):
        parts = [{"text": self.answer}]
        if self.thoughts:
            parts.insert(0, {"text": self.thoughts, "thought": True})
        content = {"role": "model", "parts": parts}
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
        if self.thoughts:
            usage = {**usage, "thoughtsTokenCount": 5, "totalTokenCount": 23}
        candidate = {"content": content, "finishReason": self.ended, "index": 0}
        if not self.has_content:
            del candidate["content"]
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": NAME}


@contextlib.contextmanager
def running(kind=Hosted):
    """Yield a stub that listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as listening:
        stub = listening.stub = kind(f"http://127.0.0.1:{listening.server_address[1]}/v1")
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield stub
        finally:
            listening.shutdown()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send(*self.server.stub.listing)

    def do_POST(self):
        stub = self.server.stub
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in ("/tokenize", "/apply-template"):
            shown = stub.shows.get(self.path)
            return self.send(200, shown(body)) if shown else self.send(404, {})
        if is_probe(body):
            stub.probes.append(body)
        else:
            stub.bodies.append(body)
            stub.headers.append(self.headers)
            stub.paths.append(self.path)
        self.send(*stub.reply(body))

    def send(self, status, content):
        if isinstance(content, Iterator):
            return self.stream(content)
        content = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 200 and self.server.stub.retry_after:
            self.send_header("Retry-After", self.server.stub.retry_after)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def stream(self, pieces):
        """Send a stream of events, whose end closes the connection."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with contextlib.suppress(OSError):  # of a client that did not wait
            for piece in pieces:
                self.wfile.write(piece if isinstance(piece, bytes) else piece.encode())
        self.close_connection = True

    def log_message(self, *arguments):
        pass


def o_series(body):
    """Refuse what models that reason refuse, in OpenAI's words, one setting at a time."""
    for name, message, code in (
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "unsupported_parameter",
        ),
        (
            "temperature",
            f"Unsupported value: 'temperature' does not support {body.get('temperature')} with "
            "this model. Only the default (1) value is supported.",
            "unsupported_value",
        ),
        (
            "top_p",
            "Unsupported parameter: 'top_p' is not supported with this model.",
            "unsupported_parameter",
        ),
    ):
        if name in body and not (name == "temperature" and body[name] == 1):
            error = {"message": message, "type": "invalid_request_error"}
            return 400, {**error, "param": name, "code": code}
    return None
