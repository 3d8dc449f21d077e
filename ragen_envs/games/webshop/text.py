"""The texts of WebShop: its rules and its pages, in the two text modes.

"plain" joins the visible parts by [SEP]. "rich" puts each on a line and marks labels as
[button] label [button_], and choices as [clicked button] label [clicked button_].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from ragen_envs.core.wording import pluralize
from ragen_envs.games.webshop.actions import click_of
from ragen_envs.games.webshop.pages import BACK, BUY, NEXT, PREVIOUS, SUB_PAGES, Page, option_labels
from ragen_envs.games.webshop.products import Catalogue, Product

Mode = Literal["rich", "plain"]
MODES: tuple[Mode, ...] = get_args(Mode)
LONGEST_TEXT = 1500
"""Most characters of a description or a list of features."""
_LABELS = {
    "rich": "What can be clicked stands between [button] and [button_].",
    "plain": "What can be clicked stands in the last line.",
}


def rules(mode: Mode, turns: int) -> str:
    """Return the rules, which the shopper reads once."""
    return (
        "You are shopping in a web shop: find a product that meets the instruction, choose the "
        "options that it asks for, and buy it.\n"
        "Actions: search[WORDS] on the search page; click[LABEL] with a label of the page. "
        f"{_LABELS[mode]}\n"
        "click[buy now] ends the episode. Its reward is the share of what was asked for "
        "(attributes, options and price) that the purchase meets; a product of another kind is "
        "mostly worth less.\n"
        f"You have {pluralize(turns, 'turn')} with one action each."
    )


def list_actions(page: Page, labels: Sequence[str]) -> str:
    """Return the line that lists the actions, for pages that do not mark them."""
    if page.kind == "search":
        return "Actions: search[WORDS]"
    return f"Actions: {', '.join(map(click_of, labels))}"


class Part(NamedTuple):
    """A visible part of a page."""

    text: str
    look: Literal["text", "button", "clicked"] = "text"


def render_page(catalogue: Catalogue, page: Page, instruction: str, mode: Mode) -> str:
    """Return a page as text, under the instruction."""
    parts = [Part("Instruction:"), Part(instruction), *_parts(catalogue, page)]
    if mode == "plain":
        return " [SEP] ".join(part.text for part in parts)
    marks = {"text": "{}", "button": "[button] {} [button_]"}
    marks["clicked"] = "[clicked button] {} [clicked button_]"
    return "\n".join(marks[part.look].format(part.text) for part in parts)


def _parts(catalogue: Catalogue, page: Page) -> list[Part]:
    if page.kind == "search":
        return [Part("Search")]
    if page.kind == "done":
        return [Part("Thank you for shopping with us!")]
    if page.kind == "results":
        return _results(catalogue, page)
    product = catalogue.products[page.product]
    if page.kind == "item":
        return _item(product, page)
    parts = [Part("There are no reviews.")]
    if page.kind == "description":
        parts = [Part(_line(product.description))]
    elif page.kind in ("features", "attributes"):
        parts = _fitting_parts(product.bullets if page.kind == "features" else product.attributes)
    return [_button(BACK), _button(PREVIOUS), *parts]


def _results(catalogue: Catalogue, page: Page) -> list[Part]:
    parts = [_button(BACK), Part(f"Page {page.number} (Total results: {len(page.hits)})")]
    parts += [_button(PREVIOUS)] if page.number > 1 else []
    parts += [_button(NEXT)] if page.has_next else []
    for position in page.page_hits:
        product = catalogue.products[position]
        title, price = Part(_line(product.title)), Part(price_text(product))
        parts += [_button(product.asin.lower()), title, price]
    return parts


def _item(product: Product, page: Page) -> list[Part]:
    parts = [_button(BACK), _button(PREVIOUS)]
    by_option: dict[str, list[Part]] = {name: [] for name, _ in product.options}
    for label, (name, value) in option_labels(product).items():
        look: Literal["clicked", "button"] = "clicked" if (name, value) in page.chosen else "button"
        by_option[name].append(Part(label, look))
    for name, values in by_option.items():
        parts += [Part(f"{name}:"), *values]
    if page.chosen:
        parts.append(Part("Chosen: " + "; ".join(f"{n}: {v}" for n, v in page.chosen)))
    parts += [Part(_line(product.title)), Part(f"Price: {price_text(product)}")]
    return [*parts, Part("Rating: N.A."), *map(_button, SUB_PAGES), _button(BUY)]


def _fitting_parts(lines: tuple[str, ...]) -> list[Part]:
    parts: list[Part] = []
    room = LONGEST_TEXT
    for line in lines:
        text = _line(line)
        if len(text) > room:
            return [*parts, Part("...")]
        room -= len(text)
        parts.append(Part(text))
    return parts


def _button(label: str) -> Part:
    return Part(label, "button")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 3]}..."


def price_text(product: Product) -> str:
    """Return the price as text, with both ends of a range."""
    low, high = product.price
    return f"${low:.2f}" if low == high else f"${low:.2f} to ${high:.2f}"
