"""`gguf/PATH`: llama.cpp in this process.

Its server is started on the loopback interface with a random key, and asked by the same client as
any other server.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import mmap
import re
import secrets
import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Engine, Sampling
from ragen_bench.models.call_forms import learn_form, make_function
from ragen_bench.models.call_reading import CallForm
from ragen_bench.models.chat_messages import NO_FUNCTIONS, RefusedConversationError
from ragen_bench.models.days import CLOCK, read_day, today, write_day

try:
    # Both are checked here, since the module below would name the wrong extra.
    import httpx
    import openai  # noqa: F401
    import xllamacpp

    from ragen_bench.models.api.options import ServerOptions
    from ragen_bench.models.api.server_model import OpenAIModel
    from ragen_bench.models.thinking_marks import MARKS, THINK, parse_marks
except ImportError as missing:
    raise missing_extra(missing, "gguf") from missing

CONTEXT = 16384
"""Context length in tokens, or that of the model if it is shorter."""
_NAME = "gguf"
_MAGIC = b"GGUF"
_TEMPLATE = b"tokenizer.chat_template"
_HEADER, _TEXT = struct.Struct("<IQ"), b"\x08\0\0\0"
"""Type and length of a value in the metadata, and the type of texts."""
_METADATA = 1 << 28
"""Bytes at the beginning of the file in which metadata are searched."""
_MARK = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")
"""What may be a token that llama.cpp leaves out of a text."""
_SECONDS_A_DAY = 86400.0
_VOCABULARY = 1 << 25
"""Bytes at the beginning of the file in which the marks of thoughts are searched."""


class GGUFModel:
    """Generates with llama.cpp, one completion at a time, without its cache of conversations.

    Requests that shared batches or a cache would change each other's rounding. So a completion
    depends on its own request alone. Of a file in several parts, the path is that of the first.
    llama.cpp chooses the number of threads if it is None. A UserError says that llama.cpp
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
        with self._file.open("rb") as content:
            if content.read(len(_MAGIC)) != _MAGIC:
                raise UserError(f"{str(file)!r} is not a GGUF file")
            with mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
                # Without one, llama.cpp would silently use the template of another model.
                if data.find(_TEMPLATE, 0, _METADATA) < 0:
                    raise UserError(
                        f"{str(file)!r} has no chat template; evaluate an instruction-tuned model"
                    )
                self._template = _read_template(data)
                self._marks = thinking_marks or _find_marks(data)
        self._threads = threads
        self._start(today())

    def _start(self, day: str) -> None:
        """Start the server, with a template that writes this date."""
        self._day = day
        template = write_day(self._template, day) if CLOCK in self._template else ""
        key = secrets.token_hex()
        # Marks of thoughts may be special tokens, which llama.cpp leaves out of the text.
        special = parse_marks(self._marks) != THINK
        self._server = _start_server(self._file, key, self._threads, special, template)
        url = f"{self._server.listening_address}/v1"
        options = ServerOptions(base_url=url, concurrency=1, timeout=_SECONDS_A_DAY, retries=0)
        self._model = _ServedModel(_NAME, options, key, self._marks)
        self._model.prints_tokens = special

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the model is asked."""
        moving = f"{CLOCK}(" in write_day(self._template, self._day)
        note = "the chat template writes the date in a way that a run cannot fix; finish it today"
        return [*([note] if moving else []), *self._model.notes]

    def resume(self, identity: JsonObject) -> None:
        """Ask as a recorded run did, on its date."""
        day = read_day(identity)
        if day and day != self._day:
            self._start(day)
        self._model.resume(identity)

    def identity(self) -> JsonObject:
        """Return a hash of the file, the context and the engine's version."""
        with self._file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        served = self._model.identity()
        return {
            "fingerprint": digest[:16],
            "context": self._model.context,
            "engine": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
            **({"date": self._day} if CLOCK in self._template else {}),
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

    With `prints_tokens`, special tokens are in them.
    """

    prints_tokens = False

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

    def _render(self, messages: Sequence[JsonObject], functions: Sequence[JsonObject]) -> str:
        body = {"messages": list(messages), **({"tools": list(functions)} if functions else {})}
        text = str(self._post("apply-template", body)["prompt"])
        for mark in set(_MARK.findall(text)):
            read, plain = (
                self._post("tokenize", {"content": mark, "parse_special": special})["tokens"]
                for special in (True, False)
            )
            is_printed = self.prints_tokens or read == plain
            text = text if is_printed else text.replace(mark, "")
        return text

    def _post(self, path: str, body: JsonObject) -> JsonObject:
        address = f"{self.url.removesuffix('/v1')}/{path}"
        headers = {"Authorization": f"Bearer {self.key.text}"}
        reply = httpx.post(address, json=body, headers=headers, timeout=self.options.timeout)
        content: JsonObject = reply.json()
        if reply.is_error:
            raise RefusedConversationError(str(content.get("error"))[:200])
        return content


def _find_marks(data: mmap.mmap) -> str:
    """Return the name of the marks in a file's template or vocabulary."""
    for marks in MARKS:
        signs = marks.signs or (marks.begin, marks.end)
        if all(data.find(sign.encode(), 0, _VOCABULARY) >= 0 for sign in signs):
            return marks.name
    return THINK.name


def _read_template(data: mmap.mmap) -> str:
    """Return the chat template in the metadata of a file."""
    place = -1
    while (place := data.find(_TEMPLATE, place + 1, _METADATA)) >= 0:
        start = place + len(_TEMPLATE)
        header = data[start : start + _HEADER.size]
        if len(header) == _HEADER.size and header.startswith(_TEXT):
            _, length = _HEADER.unpack(header)
            start += _HEADER.size
            return data[start : start + length].decode("utf-8", "replace")
    return ""


def _start_server(
    file: Path, key: str, threads: int | None, special: bool, template: str = ""
) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {_NAME}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    if template:
        params.chat_template = template
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
