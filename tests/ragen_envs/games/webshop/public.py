"""Small public files, written for tests in the schema of WebShop's."""

from __future__ import annotations

import json

DESK = {
    "asin": "B000000001",
    "name": "Oak Desk for Women",
    "full_description": "A desk.",
    "small_description": ["Easy clean", "Four legs"],
    "pricing": "$1,016.99 to $26.50",
    "images": ["none"],
    "product_category": "Home \u203a Furniture \u203a Desks",
    "category": "garden",
    "query": " Desks ",
    "customization_options": {
        "Size": [{"value": " X-Small "}, {"value": "Small/Medium", "image": None}],
        "Color": None,
        "Style": [{"value": "Plain"}],
    },
}
LAMP = DESK | {
    "asin": "B000000002",
    "name": "Lamp",
    "small_description": "One line",
    "pricing": None,
    "product_category": "",
    "customization_options": "",
}
ATTRIBUTES = {
    "B000000001": {
        "attributes": ["easy clean", "solid wood"],
        "instruction": "Find me easy clean desks",
        "instruction_attributes": ["easy clean"],
    },
    "B000000009": {"attributes": 7},
    "B000000002": {"attributes": []},
}


def request(**fields):
    return {
        "instruction": "i need a desk.",
        "instruction_attributes": ["easy clean"],
        "instruction_options": [],
    } | fields


def write(folder, products=(DESK, LAMP), attributes=ATTRIBUTES, human=None, suffix="_1000"):
    """Write the files into a folder and return it."""
    (folder / f"items_shuffle{suffix}.json").write_text(json.dumps(products))
    (folder / f"items_ins_v2{suffix}.json").write_text(json.dumps(attributes))
    if human is not None:
        (folder / "items_human_ins.json").write_text(json.dumps(human))
    return folder
