"""`gguf/PATH`: llama.cpp in this process.

Its own server is started on the loopback interface, with a key that nobody else has, and asked as
any other; so there is one client of servers.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import mmap
import secrets
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.models.base import Engine, Sampling

try:
    # Both at once: the module below would name the extra of servers alone.
    import openai  # noqa: F401
    import xllamacpp

    from ragen_bench.models.api.model import OpenAIModel
    from ragen_bench.models.api.options import ServerOptions
except ImportError as missing:
    raise missing_extra(missing, "gguf") from missing

CONTEXT = 16384
"""Tokens, or as many as the model was trained on if these are fewer."""
_NAME = "gguf"
_MAGIC = b"GGUF"
_TEMPLATE = b"tokenizer.chat_template"
_METADATA = 1 << 28
"""Bytes from the file's beginning that its metadata are looked for in."""
_DAY = 86400.0


class GGUFModel:
    """Generates with llama.cpp, one answer at a time.

    One, because several share their batches, and where a batch ends, rounding begins to differ; and
    without the cache of earlier conversations, for the same reason. So an answer depends on its
    own request alone.

    Args:
        path: the file; of one in several parts, the first.
        threads: how many compute; llama.cpp's choice if None.

    Raises:
        UserError: if it is not a file that llama.cpp loads, or has no chat template.
    """

    slots = 1
    group_size = 1

    def __init__(self, path: str, threads: int | None = None) -> None:
        self._file = _checked(Path(path))
        key = secrets.token_hex()
        self._server = _started(self._file, key, threads)
        url = f"{self._server.listening_address}/v1"
        options = ServerOptions(base_url=url, concurrency=1, timeout=_DAY, retries=0)
        self._model = OpenAIModel(_NAME, options, key)

    def identity(self) -> dict[str, Any]:
        """Return a hash of the file, the context and the engine's version."""
        with self._file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        return {
            "fingerprint": digest[:16],
            "context": self._model.context,
            "engine": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
        }

    def probe(self) -> str:
        """Return where it runs."""
        return f"in this process, on llama.cpp, {self._model.context} tokens"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that asks the server in this process.

        Raises:
            UserError: if the context is shorter than the longest answer.
        """
        return self._model.engine(sampling)


def _checked(file: Path) -> Path:
    """Return a file that holds a chat model, as far as its metadata say."""
    if not file.is_file():
        raise UserError(f"there is no file {str(file)!r}; gguf/PATH wants the path of a GGUF file")
    with file.open("rb") as content:
        if content.read(len(_MAGIC)) != _MAGIC:
            raise UserError(f"{str(file)!r} is not a GGUF file")
        with mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
            # Without one, llama.cpp would quietly take the template of another model.
            if data.find(_TEMPLATE, 0, _METADATA) < 0:
                raise UserError(
                    f"{str(file)!r} has no chat template; evaluate an instruction-tuned model"
                )
    return file


def _started(file: Path, key: str, threads: int | None) -> Any:
    """Return a server that has loaded the file and listens."""
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {_NAME}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    params.ui = params.endpoint_slots = False
    params.n_ctx, params.n_parallel, params.cache_prompt = CONTEXT, 1, False
    params.warmup, params.verbosity = False, -1
    # What the model says is read by `ragen_bench.models.reasoning`, as any other engine's.
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
