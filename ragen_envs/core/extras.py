"""The error for a missing optional package, which names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def missing(what: str, package: str, extra: str) -> ImportError:
    """Return the error that says which extra brings a package that the module `what` needs."""
    return ImportError(
        f"{what} needs {package}: pip install 'ragen-bench[{extra}]' "
        f"(in a checkout: pip install '.[{extra}]')"
    )


@contextmanager
def required(what: str, package: str, extra: str) -> Iterator[None]:
    """Raise the error of `missing` if the package cannot be imported inside the context."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise missing(what, package, extra) from None
