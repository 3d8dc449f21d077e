"""Runs examples/arrays_and_ppo.ipynb, and writes its outputs and docs/notebook.md.

`python -m docs.build_notebook` runs the cells, which takes half a minute; a test fails if the page
is not that of the notebook.
"""

from __future__ import annotations

import ast
import base64
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from docs.build_games import DOCS

NOTEBOOK = DOCS.parent / "examples" / "arrays_and_ppo.ipynb"
PAGE = DOCS / "notebook.md"
PICTURES = DOCS / "assets" / "notebook"
_KINDS = {"_repr_png_": "image/png", "_repr_svg_": "image/svg+xml"}
_ABOUT = """\
<!-- Written by docs/build_notebook.py from examples/arrays_and_ppo.ipynb; change the notebook. -->
"""


def run(cells: list[dict[str, Any]]) -> dict[str, object]:
    """Run the code cells in one namespace, which is returned, and set their outputs."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate((c for c in cells if c["cell_type"] == "code"), start=1):
        printed = StringIO()
        *statements, last = ast.parse("".join(cell["source"])).body
        with redirect_stdout(printed):
            exec(compile(ast.Module(statements, []), "notebook", "exec"), names)
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
            else:
                exec(compile(ast.Module([last], []), "notebook", "exec"), names)
        outputs = []
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            outputs.append({"name": "stdout", "output_type": "stream", "text": text})
        if value is not None:
            shown = {"data": _data_of(value), "metadata": {}, "execution_count": number}
            outputs.append({**shown, "output_type": "execute_result"})
        cell.update(outputs=outputs, execution_count=number)
    return names


def _data_of(value: object) -> dict[str, object]:
    for name, kind in _KINDS.items():
        if make := getattr(value, name, None):
            content = make()
            return {kind: base64.b64encode(content).decode() if kind == "image/png" else content}
    return {"text/plain": repr(value).splitlines(keepends=True)}


def build_page(cells: list[dict[str, Any]]) -> tuple[str, dict[str, bytes]]:
    """Return the text of the page, and its pictures by their names."""
    pictures: dict[str, bytes] = {}
    parts = [_ABOUT]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        parts.append(f"```python\n{source}\n```\n")
        parts += _outputs(cell["outputs"], pictures)
    return "\n".join(parts), pictures


def _outputs(outputs: list[dict[str, Any]], pictures: dict[str, bytes]) -> Iterator[str]:
    for output in outputs:
        data = output.get("data") or {"text/plain": output["text"]}
        kind, content = next(iter(data.items()))
        if kind == "text/plain":
            yield f"```text\n{''.join(content).rstrip()}\n```\n"
            continue
        is_png = kind == "image/png"
        name = f"{len(pictures) + 1}.{'png' if is_png else 'svg'}"
        pictures[name] = base64.b64decode(content) if is_png else content.encode()
        yield f"![Output of the cell above](assets/notebook/{name})\n"


def main() -> None:
    """Run the notebook and write it, the page and its pictures."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    run(notebook["cells"])
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text, pictures = build_page(notebook["cells"])
    PAGE.write_text(text, encoding="utf-8")
    PICTURES.mkdir(exist_ok=True)
    for name, content in pictures.items():
        (PICTURES / name).write_bytes(content)


if __name__ == "__main__":
    main()
