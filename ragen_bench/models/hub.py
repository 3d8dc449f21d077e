"""Names of models: a folder or a name on the hub, checked before a library is loaded."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from ragen_bench.errors import UserError
from ragen_bench.models.model_folder import check_folder

_SECONDS = 2.0
"""Time for an answer of the hub."""
_is_hub_name = re.compile(r"[A-Za-z0-9_][\w.-]{0,95}(/[\w.-]{1,96})?", re.ASCII).fullmatch


def expand_home(name: str) -> str:
    """Return a path with the home folder in place of `~`; an unknown user's stays."""
    try:
        return str(Path(name).expanduser()) if name.startswith("~") else name
    except RuntimeError:
        return name


def find_model(name: str, provider: str = "") -> str:
    """Return the folder that a name means, or the name itself if it is the hub's.

    A UserError refuses a folder without a model, and a name without a folder and without a copy
    in the hub's cache if the hub cannot be reached. With such a copy the hub is switched off.
    `provider` begins the names that are suggested, such as "hf/".
    """
    name = expand_home(name)
    if Path(name).exists():
        if name.lower().endswith(".gguf"):
            raise UserError(f"{name!r} is not a model folder; did you mean gguf/{name}?")
        check_folder(name, provider)
        return name
    missing = f"there is no folder {name!r}"
    if not _is_hub_name(name):
        raise UserError(f"{missing}; give the folder of a model, or a name on the hub as ORG/NAME")
    from huggingface_hub import constants

    off = constants.HF_HUB_OFFLINE
    problem = "HF_HUB_OFFLINE is on" if off else find_problem(constants.ENDPOINT)
    if problem:
        copies = Path(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}", "snapshots")
        if not any(copies.glob("*/config.json")):
            raise UserError(
                f"{missing}, and the hub cannot be reached ({problem}): give the folder of a "
                "model, or connect to the hub"
            )
        # Its libraries would try to reach it for a minute.
        constants.HF_HUB_OFFLINE = True
    return name


def find_problem(endpoint: str) -> str:
    """Return why a hub cannot be reached, or ""; within 3 seconds."""
    found: list[str] = []
    # A thread, since no time limit ends the search for an address.
    thread = threading.Thread(target=lambda: found.append(_try_to_reach(endpoint)), daemon=True)
    thread.start()
    thread.join(_SECONDS + 0.5)
    return found[0] if found else f"no answer from {endpoint}"


def _try_to_reach(endpoint: str) -> str:
    url = urlsplit(endpoint)
    host, scheme = url.hostname or "", url.scheme
    try:
        proxies = urllib.request.getproxies()
        if "all" in proxies:  # which the hub's own client reads alone
            return ""
        if scheme in proxies and not urllib.request.proxy_bypass(host):
            request = urllib.request.Request(endpoint, method="HEAD")
            urllib.request.urlopen(request, timeout=_SECONDS).close()
        else:
            port = url.port or (443 if scheme == "https" else 80)
            socket.create_connection((host, port), _SECONDS).close()
    except urllib.error.HTTPError:
        return ""
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        # A certificate that only the hub's own client knows.
        if isinstance(reason, ssl.SSLError):
            return ""
        return f"{endpoint}: {getattr(reason, 'strerror', None) or reason}"
    return ""
