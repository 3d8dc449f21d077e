"""Imports transformers without packages that it loads and a command never uses.

transformers and torch read names of torch._dynamo for torch.compile alone, and with it come
inductor and sympy. Losses for object detection load scipy, assisted generation loads
scikit-learn, and accelerate loads boto3. Without these a command's imports take two thirds of the
time.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

_UNUSED = ("boto3", "librosa", "scipy", "sklearn")
_DYNAMO = "torch._dynamo"
_INDEPENDENT = f"{_DYNAMO}._trace_wrapped_higher_order_op"
"""A module of the compiler that does not need the others."""
_MODULES = ("modeling_utils", "masking_utils", "modeling_layers", "generation.utils")
"""Modules of transformers that all of its language models import."""


def import_transformers() -> None:
    """Import what transformers' language models need, and torch's compiler at its first use."""
    import torch

    if _DYNAMO not in sys.modules:
        compiler = _Shell(_DYNAMO)
        compiler.__spec__ = importlib.util.find_spec(_DYNAMO)
        compiler.__path__ = [str(Path(torch.__file__).parent / "_dynamo")]
        compiler.__dict__.update(_PASSIVE)
        sys.modules[_DYNAMO] = compiler
        sys.meta_path.insert(0, _Finder())
    # transformers remembers what is installed.
    if "transformers" not in sys.modules:
        # A package that it loads may need one of them; then nothing is left out.
        with suppress(ImportError), _hiding(_UNUSED):
            _import_models()
    _import_models()


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Import without garbage collection, and leave all objects out of it, in a process of our own.

    Nearly all of the hundreds of thousands of objects stay; looking through them takes up to two
    fifths of the time. A process that has imported transformers before may hold other objects, and
    nothing changes in it.
    """
    if "transformers" in sys.modules:
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _import_models() -> None:
    for name in _MODULES:
        importlib.import_module(f"transformers.{name}")


@contextmanager
def _hiding(names: Sequence[str]) -> Iterator[None]:
    """Let packages that are not imported yet appear as not installed."""
    hidden: dict[str, Any] = {name: None for name in names if name not in sys.modules}
    sys.modules.update(hidden)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


class _Shell(types.ModuleType):
    """A module of torch's compiler that loads the compiler at the first use of another name."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        _load_compiler()
        return getattr(importlib.import_module(self.__name__), name)


class _Finder:
    """Loads the compiler before any of its modules; only as long as it has a shell."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:
        """Return a spec of the module that the compiler has loaded itself; None for others."""
        if not name.startswith(f"{_DYNAMO}.") or name == _INDEPENDENT or not _load_compiler():
            return None
        return importlib.util.spec_from_loader(name, _Loaded()) if name in sys.modules else None


class _Loaded(Loader):
    """Loader of a module that has been loaded."""

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Return the module."""
        return sys.modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing."""


def _load_compiler() -> bool:
    """Return whether the compiler had a shell, which it has replaced."""
    if not isinstance(sys.modules.get(_DYNAMO), _Shell):
        return False
    del sys.modules[_DYNAMO]
    importlib.import_module(_DYNAMO)
    return True


def _return_function(function: Callable[..., Any] | None = None, *_: object, **__: object) -> Any:
    """Return a decorated function unchanged, or a decorator that does."""
    return _return_function if function is None else function


_EVAL_FRAME = _Shell(f"{_DYNAMO}.eval_frame")
_EVAL_FRAME.__dict__["OptimizedModule"] = type("OptimizedModule", (), {})
_PASSIVE = {
    **dict.fromkeys(("allow_in_graph", "assume_constant_result", "disable"), _return_function),
    "graph_break": lambda *_, **__: None,
    "eval_frame": _EVAL_FRAME,
}
"""Names of the compiler that mean nothing where nothing is compiled."""
