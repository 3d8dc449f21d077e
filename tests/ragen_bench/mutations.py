"""Changes of JSON values that keep their structure, for whatever reads a stranger's files."""

import json

from hypothesis import strategies as st

OTHERS = st.sampled_from(
    [None, True, False, 0, 1, -1, 0.5, 7, 10**16, "", "Up", "x" * 50, "\ud800", [], ["Up"], {}]
)


def places(value, path=()):
    """Yield the paths of everything in a JSON value but itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inside in items:
        yield (*path, key)
        if isinstance(inside, dict | list):
            yield from places(inside, (*path, key))


def put(value, path, new):
    """Return a copy with something else at a path; the value that was there; whether it differs."""
    changed = json.loads(json.dumps(value))
    *inside, key = path
    holder = changed
    for step in inside:
        holder = holder[step]
    old = holder[key]
    holder[key] = new(old) if callable(new) else new
    return changed, json.dumps(holder[key]) != json.dumps(old)
