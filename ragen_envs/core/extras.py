"""The error for a missing optional package, which names the extra to install."""

from __future__ import annotations


def missing(what: str, package: str, extra: str) -> ImportError:
    """Return the error that says which extra brings a package.

    Args:
        what: Module or function that needs the package.
        package: Package that could not be imported.
        extra: Extra of this distribution that installs it.
    """
    return ImportError(
        f"{what} needs {package}: pip install 'ragen-bench[{extra}]' "
        f"(in a checkout: pip install '.[{extra}]')"
    )
