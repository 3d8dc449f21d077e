"""The documents that the search indexes, one text for each product."""

from __future__ import annotations

from ragen_envs.games.webshop.products import Product


def document(product: Product) -> str:
    """Return title, description, first bullet and options in lower case, as one text.

    It is the `contents` of the public `documents.jsonl` of WebShop, character for character.
    """
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options)
    first = product.bullets[0] if product.bullets else ""
    return f"{product.title} {product.description} {first} {options}".lower()
