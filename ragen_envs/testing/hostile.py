"""Hostile texts: responses that a model may give and that authors tend to forget."""

from __future__ import annotations

_NUMBERS = {
    "superscript digit": "\u00b2",  # isdigit() says yes, int() says no
    "vulgar fraction": "\u00bd",
    "full-width digit": "\uff11",
    "5,000 digits": "9" * 5000,  # more than int() takes
    "nought": "0",
    "large number": "99",
    "negative number": "-99",
    "minus sign": "-",
    "two minus signs": "--1",
    "decimal fraction": "1.5",
    "not a number": "nan",
    "beyond floats": "1e999",
    "hexadecimal": "0x10",
    "underscore": "1_000",
    "division by nought": "1/0",
    "half a pair": "1,",
    "pair of three": "1,2,3",
}
_FORMS = {
    "answer tags": "<answer>{}</answer>",
    "think and answer tags": "<think>?</think><answer>{}</answer>",
    "brackets": "[{}]",
    "a box": "\\boxed{{{}}}",
}
"""Markup that authors often strip before they parse a response."""
_INSIDE = (
    "superscript digit",
    "5,000 digits",
    "large number",
    "two minus signs",
    "not a number",
    "beyond floats",
)
"""The numbers that are also wrapped in each of these forms."""

HOSTILE: dict[str, str] = {
    "empty": "",
    "spaces": " \t\r\n\v\f\x1c\x85\u2028\u2029\u3000",
    "newlines": "\n" * 1000,
    "NUL": "\0",
    "NUL inside": "a\0b",
    "control characters": "".join(map(chr, range(32))) + "\x7f\x9b[31m\x1b[2J",
    "lone high surrogate": "\ud800",
    "lone low surrogate": "up\udcff",
    "private and unassigned": "\ue000\ufffe\uffff\U0010ffff",
    "right to left": "\u202eup\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "combining marks": "e" + "\u0301" * 500,
    "case folds longer": "\u0130\u00df\ufb03" * 50,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "odd digits": "\u0661 \u00b2 \u2460 \uff11 \u096f",
    "unclosed tag": "<answer>up",
    "unopened tag": "up</answer></think>",
    "nested tags": "<think><answer><think></answer></think>",
    "deeply nested tags": "<think><answer>" * 2000,
    "several answers": "<answer>up</answer><answer>down</answer>",
    "empty answer": "<think></think><answer></answer>",
    "half a tag": "<answe",
    "separators only": "|| || ||||",
    "format strings": "{} {0} {x!r} {0.__class__} %s %d %(x)s %n ${x} {{",
    "regular expression": "(a+)+$ [ \\ ( * \\g<1> \\1 (?P<x>",
    "markup": "<!-- ]]> &amp; &#0; <script>alert(1)</script>",
    "shell and SQL": "'; DROP TABLE levels; -- $(reboot) `reboot`",
    "JSON": '{"action": null, "x": [1e999, -0]}',
    "brackets": "[" * 5000,
    "numbers": "-1 nan inf 1e400 0x10 1_000 " + "9" * 5000,
    "Python names": "None True __class__ self",
    "path": "../../etc/passwd\\..\\con",
    "100,000 letters": "a" * 100_000,
    "100,000 words": "up " * 100_000,
    "100,000 tags": "<answer>" * 100_000,
    "100,000 spaces": " " * 100_000 + "x",
    "1,000,000 characters": "\u20ac" * 1_000_000,
    **_NUMBERS,
    **{f"nothing in {where}": form.format("") for where, form in _FORMS.items()},
    **{
        f"{name} in {where}": form.format(_NUMBERS[name])
        for where, form in _FORMS.items()
        for name in _INSIDE
    },
}
"""A name for each text, and the text."""
