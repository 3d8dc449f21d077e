"""The error for a missing optional package, which names the extra to install."""

from __future__ import annotations


def missing(what: str, package: str, extra: str) -> ImportError:
    """Return the error that says which extra of this distribution brings a package.

    `what` is the module or function that needs it.
    """
    return ImportError(
        f"{what} needs {package}: pip install 'ragen-bench[{extra}]' "
        f"(in a checkout: pip install '.[{extra}]')"
    )
