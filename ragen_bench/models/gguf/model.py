"""`gguf/PATH`: llama.cpp in this process.

Its server is started on the loopback interface with a random key, and asked by the same client as
any other server.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import mmap
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Engine, Message, Sampling
from ragen_bench.models.call_forms import learn_form, make_function
from ragen_bench.models.call_reading import CallForm
from ragen_bench.models.chat_messages import NO_FUNCTIONS, RefusedConversationError
from ragen_bench.models.days import CLOCK, read_day, today, write_day
from ragen_bench.models.gguf.metadata import MAGIC, find_parts, read_metadata
from ragen_bench.models.prompt import opening
from ragen_bench.models.templates import check_limits
from ragen_bench.reading import open_file

# OpenMP reads it when llama.cpp is loaded. Threads that spin while they wait for each other take
# twenty times as long on a machine with other work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import httpx
    import xllamacpp

    from ragen_bench.models.api.options import ServerOptions
    from ragen_bench.models.api.server_model import OpenAIModel
    from ragen_bench.models.thinking_marks import MARKS, THINK, parse_marks
except ImportError as missing:
    raise missing_extra(missing, "gguf") from missing

CONTEXT = 16384
"""Context length in tokens, or that of the model if it is shorter."""
_NAME = "gguf"
_BLOCK = 1 << 20
_VARIABLES = {
    **{"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True},
    "enable_thinking": True,
}
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
        with open_file(self._file) as content:
            if content.read(len(MAGIC)) != MAGIC:
                raise UserError(f"{str(file)!r} is not a GGUF file")
            with mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
                self._templates, parts = read_metadata(file, data)
                # Without one, llama.cpp would silently use the template of another model.
                if not self._templates:
                    raise UserError(
                        f"{str(file)!r} has no chat template; evaluate an instruction-tuned model"
                    )
                self._template = self._templates.get("tokenizer.chat_template", "")
                self._marks = thinking_marks or _find_marks(data)
        self._parts = find_parts(file, parts)
        sample = [*opening("think"), {"role": "user", "content": "-"}]
        _check_templates(self._templates.values(), sample, ())
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
        self._model.templates = tuple(self._templates.values())
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
        digest = hashlib.sha256()
        for part in self._parts:
            with part.open("rb") as content:
                while block := content.read(_BLOCK):
                    digest.update(block)
        served = self._model.identity()
        return {
            "fingerprint": digest.hexdigest()[:16],
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
    templates: tuple[str, ...] = ()

    async def send(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send one request whose conversation can be rendered within limits."""
        _check_templates(
            self.templates, messages, settings.get("tools") or fields.get("tools") or ()
        )
        return await super().send(messages, settings, fields)

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
        _check_templates(self.templates, messages, functions)
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


def _check_templates(
    templates: Iterable[str],
    messages: Sequence[Mapping[str, object]],
    functions: Sequence[JsonObject],
) -> None:
    """Raise TemplateLimitError if llama.cpp, which has no limits, could not render these."""
    shown = {"messages": list(messages), "tools": list(functions) or None}
    for template in templates:
        check_limits(template, {**_VARIABLES, **shown}, today())


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
