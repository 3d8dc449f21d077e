"""Products for tests, of which only what matters is said."""

from __future__ import annotations

from ragen_envs.games.webshop.products import Catalogue, Goal, Product


def product(title: str = "", **fields) -> Product:
    defaults = {
        "asin": "B000000001",
        "description": "",
        "bullets": (),
        "price": (10.0, 10.0),
        "breadcrumbs": (),
        "query": "",
        "options": (),
        "attributes": (),
        "nouns": (),
    }
    return Product(title=title, **(defaults | fields))


def catalogue(*titles: str) -> Catalogue:
    products = (product(title, asin=f"B{i:09}") for i, title in enumerate(titles))
    return Catalogue(tuple(products), "test")


def goal(**fields) -> Goal:
    defaults = {
        "product": 0,
        "instruction": "",
        "attributes": ("easy clean",),
        "options": (),
        "price_cap": 20.0,
    }
    return Goal(**(defaults | fields))
