"""`gguf/PATH`: llama.cpp in this process.

Its server is started on the loopback interface with a random key, and asked by the same client as
any other server.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import mmap
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Engine, Message, Sampling
from ragen_bench.models.call_forms import learn_form, make_function
from ragen_bench.models.call_reading import CallForm
from ragen_bench.models.chat_messages import NO_FUNCTIONS, RefusedConversationError
from ragen_bench.models.days import CLOCK, read_day, today
from ragen_bench.models.gguf.metadata import MAGIC, find_parts, read_metadata
from ragen_bench.models.gguf.template import ECHO, FileTemplate, make_template
from ragen_bench.reading import open_file

# OpenMP reads it when llama.cpp is loaded. Threads that spin while they wait for each other take
# twenty times as long on a machine with other work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import httpx
    import xllamacpp

    from ragen_bench.models.api.errors import RefusedRequestError, RetryableError
    from ragen_bench.models.api.options import ServerOptions
    from ragen_bench.models.api.server_model import OpenAIModel
    from ragen_bench.models.thinking_marks import MARKS, THINK, parse_marks
except ImportError as missing:
    raise missing_extra(missing, "gguf") from missing

CONTEXT = 16384
"""Context length in tokens, or that of the model if it is shorter."""
_NAME = "gguf"
_BLOCK = 1 << 20
_MARK = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")
"""Pattern of tokens that llama.cpp leaves out of a text."""
_SECONDS_A_DAY = 86400.0
_VOCABULARY = 1 << 25
"""Bytes at the beginning of the file in which the marks of thoughts are searched."""


class GGUFModel:
    """Generates with llama.cpp, one completion at a time, without its cache of conversations.

    Requests that shared batches or a cache would change each other's rounding. So a completion
    depends on its own request alone. Of a file in several parts, the path is that of the first.
    Without `threads`, llama.cpp chooses their number. A UserError says that llama.cpp
    cannot load the file, or it has no chat template. `thinking_marks` is as in `--thinking-marks`.
    """

    slots = 1
    group_size = 1

    def __init__(self, path: str, threads: int | None = None, thinking_marks: str = "") -> None:
        file = self._file = Path(path)
        if not self._file.is_file():
            raise UserError(
                f"there is no file {str(file)!r}; gguf/PATH wants the path of a GGUF file"
            )
        with open_file(self._file) as content:
            if content.read(len(MAGIC)) != MAGIC:
                raise UserError(f"{str(file)!r} is not a GGUF file")
            with mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
                templates, parts = read_metadata(file, data)
                # Without one, llama.cpp would silently use the template of another model.
                if not templates:
                    raise UserError(
                        f"{str(file)!r} has no chat template; evaluate an instruction-tuned model"
                    )
                self._marks = thinking_marks or _find_marks(data)
        self._parts = find_parts(file, parts)
        key = secrets.token_hex()
        # Marks of thoughts may be special tokens, which llama.cpp leaves out of the text.
        special = parse_marks(self._marks) != THINK
        self._server = _start_server(self._file, key, threads, special)
        url = f"{self._server.listening_address}/v1"
        options = ServerOptions(base_url=url, concurrency=1, timeout=_SECONDS_A_DAY, retries=0)
        self._model = _ServedModel(_NAME, options, key, self._marks)
        self._model.prints_tokens = special
        tokens = self._model.read_tokens()
        self._model.file_template = make_template(str(file), templates, tokens, today())

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the model is asked."""
        return self._model.notes

    def resume(self, identity: JsonObject) -> None:
        """Ask as a recorded run did, on its date."""
        template = self._model.file_template
        self._model.file_template = replace(template, day=read_day(identity) or template.day)
        self._model.resume(identity)

    def identity(self) -> JsonObject:
        """Return a hash of the file, the context and the engine's version."""
        digest = hashlib.sha256()
        for part in self._parts:
            with part.open("rb") as content:
                while block := content.read(_BLOCK):
                    digest.update(block)
        served, template = self._model.identity(), self._model.file_template
        return {
            "fingerprint": digest.hexdigest()[:16],
            "context": self._model.context,
            "engine": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
            **({"date": template.day} if CLOCK in template.default else {}),
            **{name: value for name, value in served.items() if name == "system_message"},
            **self._model.template.thinking.identity(),
        }

    def probe(self) -> str:
        """Return where it runs."""
        return f"in this process, on llama.cpp, {self._model.context} tokens"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that asks the server in this process."""
        return self._model.engine(sampling)


class _ServedModel(OpenAIModel):
    """The model on the server in this process, whose responses are texts in its own form.

    Conversations are rendered here by `file_template`. With `prints_tokens`, special tokens are
    in the responses.
    """

    prints_tokens = False
    file_template: FileTemplate

    async def send(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send the text of a conversation."""
        functions = settings.get("tools", ())
        shown: Sequence[Mapping[str, Any]] = messages
        if functions and not self.call_form.as_json:
            shown = [_read_arguments(message) for message in messages]
        try:
            text = self.file_template.render(shown, functions)
        except RefusedConversationError as error:
            raise RefusedRequestError(str(error)) from error
        plain = {n: value for n, value in settings.items() if n not in ("tools", "tool_choice")}
        return await super().send([{"role": "user", "content": text}], plain, fields)

    async def show(self, path: str, body: JsonObject | None = None) -> Any:
        """Return the file's template as the server would show it."""
        if path == "props":
            return {"chat_template": self.file_template.default, **self.file_template.tokens}
        if path != "apply-template" or body is None:
            return await super().show(path, body)
        try:
            return {"prompt": self.file_template.render(body["messages"])}
        except RefusedConversationError as error:
            raise RetryableError(str(error)) from error

    @cached_property
    def call_form(self) -> CallForm:
        """The form of calls that the chat template shows, without tokens that are not printed."""
        user: JsonObject = {"role": "user", "content": "-"}
        if self._render([user], [make_function("look")]) == self._render([user], []):
            raise UserError(NO_FUNCTIONS, exit_code=1)
        if form := learn_form(self._render):
            return form
        raise UserError(
            "the model's chat template does not show calls; remove --format tools", exit_code=1
        )

    def read_tokens(self) -> dict[str, str]:
        """Return the variables of templates that are tokens of the model."""
        shown = self._ask_server("props")
        return {name: str(shown.get(name) or "") for name in ("bos_token", "eos_token")}

    def _render(self, messages: Sequence[JsonObject], functions: Sequence[JsonObject]) -> str:
        """Return a conversation as a response would show it."""
        text = self.file_template.render(messages, functions)
        for mark in set(_MARK.findall(text)):
            read, plain = (
                self._ask_server("tokenize", {"content": mark, "parse_special": special})["tokens"]
                for special in (True, False)
            )
            is_printed = self.prints_tokens or read == plain
            text = text if is_printed else text.replace(mark, "")
        return text

    def _ask_server(self, path: str, body: JsonObject | None = None) -> JsonObject:
        reply = httpx.request(
            "POST" if body else "GET",
            f"{self.url.removesuffix('/v1')}/{path}",
            json=body,
            headers={"Authorization": f"Bearer {self.key.text}"},
            timeout=self.options.timeout,
        )
        content: JsonObject = reply.raise_for_status().json()
        return content


def _read_arguments(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message with the arguments of its calls as objects."""
    if not (calls := message.get("tool_calls")):
        return message
    functions = [call["function"] for call in calls]
    read = [{**one, "arguments": json.loads(one["arguments"])} for one in functions]
    both = zip(calls, read, strict=True)
    called = [{**call, "function": function} for call, function in both]
    return {**message, "content": message["content"] or "", "tool_calls": called}


def _find_marks(data: mmap.mmap) -> str:
    """Return the name of the marks in a file's template or vocabulary."""
    for marks in MARKS:
        signs = marks.signs or (marks.begin, marks.end)
        if all(data.find(sign.encode(), 0, _VOCABULARY) >= 0 for sign in signs):
            return marks.name
    return THINK.name


def _start_server(file: Path, key: str, threads: int | None, special: bool) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {_NAME}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    params.chat_template, params.use_jinja = ECHO, True
    params.ui = params.endpoint_slots = False
    params.n_ctx, params.n_parallel, params.cache_prompt = CONTEXT, 1, False
    params.warmup, params.verbosity, params.special = False, -1, special
    # Reasoning and calls are parsed as for other engines in process; llama.cpp's own parser of
    # calls constrains the responses by a grammar.
    params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    params.force_pure_content_parser = True
    if threads is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise UserError(
            f"llama.cpp cannot load {str(file)!r}; is the file whole, and does it fit into memory?"
        ) from error
