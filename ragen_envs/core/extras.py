"""The error for a missing optional package, which names the extra to install."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as installed


def missing(what: str, package: str, extra: str) -> ImportError:
    """Return the error that says which extra brings a package that the module `what` needs."""
    return ImportError(
        f"{what} needs {package}: pip install 'ragen-bench[{extra}]' "
        f"(in a checkout: pip install '.[{extra}]')"
    )


@contextmanager
def required(what: str, package: str, extra: str, tested: str = "") -> Iterator[None]:
    """Raise the error of `missing` if the package cannot be imported inside the context.

    Args:
        what: Module that needs the package.
        package: Name of the package.
        extra: Extra that brings it.
        tested: Its distribution with the tested version, such as "nemo-gym 0.7": another installed
            version is a warning.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise missing(what, package, extra) from None
    distribution, _, version = tested.partition(" ")
    if distribution and not f"{(found := installed(distribution))}.".startswith(f"{version}."):
        warnings.warn(
            f"{what} is tested with {tested}, and {found} is installed; "
            f"if it fails: pip install '{distribution}=={version}.*'",
            stacklevel=4,
        )
