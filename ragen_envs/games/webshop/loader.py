"""Loader of WebShop's public files: `items_shuffle*.json` and `items_ins_v2*.json`."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ragen_envs.games.webshop.json_records import Record, records, shorten
from ragen_envs.games.webshop.products import Catalogue, Product
from ragen_envs.games.webshop.requests import Request, read_requests
from ragen_envs.games.webshop.reward import COLOURS
from ragen_envs.games.webshop.tokens import STOP_WORDS

MOST_PRODUCTS = 200_000
"""Most products that are read without a limit; each takes about 6 kB of memory."""
MISSING_PRICE = 100.0
"""Price in dollars of a product without one."""
_LONGEST_ASIN = 10
_CRUMBS = "\u203a"
_PRICE = re.compile(r"\$\D*(\d[\d,]*\.?\d*)").findall


@dataclass(frozen=True)
class Files:
    """The files of one shop.

    Attributes:
        products: `items_shuffle*.json`.
        instructions: `items_ins_v2*.json`.
        human: `items_human_ins.json`, None if it is missing.
    """

    products: Path
    instructions: Path
    human: Path | None


@dataclass(frozen=True)
class PublicShop:
    """The content of the public files.

    Attributes:
        catalogue: The products; its name is derived from their content.
        requests: The requests, see `requests.tasks`.
        nouns: Name of the method that found the nouns of the titles.
        left_out: Numbers of skipped requests by reason.
    """

    catalogue: Catalogue
    requests: tuple[Request, ...]
    nouns: str
    left_out: Mapping[str, int]


def load(where: Path, limit: int | None = None, human: bool | None = None) -> PublicShop:
    """Read the public files.

    Args:
        where: Their folder, or one file `items_shuffle*.json` if the folder has several.
        limit: Most products to read, the first ones; None for all.
        human: True for the requests that people wrote, False for the generated ones of
            `items_ins_v2*.json`, None for the former if their file exists.

    Raises:
        ValueError: A file is missing, has another schema or more than 200,000 products without a
            limit, or no requests, or the limit is not positive. The message is one line that names
            file, record and field.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    files = find_files(Path(where))
    if human and files.human is None:
        raise ValueError(f"{files.products.parent} has no items_human_ins.json")
    bare = _read_products(files.products, limit)
    attributes = _read_attributes(files.instructions, bare)
    find_nouns, how = noun_finder()
    nouns = find_nouns(product.title for product in bare.values())
    products = tuple(
        replace(product, attributes=attributes.get(product.asin, ()), nouns=product_nouns)
        for product, product_nouns in zip(bare.values(), nouns, strict=True)
    )
    written = files.human if human is None or human else None
    requests, left_out = read_requests(written or files.instructions, products, bool(written))
    if not requests:
        asked = written or files.instructions
        raise ValueError(f"{asked} has no request for any of the {len(products)} products")
    name = f"{files.products.stem}-{len(products)}-{_digest(products)}"
    return PublicShop(Catalogue(products, name, ties_by_asin=True), requests, how, left_out)


def find_files(where: Path) -> Files:
    """Return the files of a folder, or those that belong to a file of products.

    Raises:
        ValueError: One is missing or ambiguous.
    """
    folder = where.parent if where.is_file() else where
    products = where if where.is_file() else _only(folder, "items_shuffle*.json")
    same = folder / f"items_ins_v2{products.stem.removeprefix('items_shuffle')}.json"
    instructions = same if same.is_file() else _only(folder, "items_ins_v2*.json")
    human = folder / "items_human_ins.json"
    return Files(products, instructions, human if human.is_file() else None)


def _only(folder: Path, pattern: str) -> Path:
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder of WebShop's files: it does not exist")
    matches = sorted(folder.glob(pattern))
    if not matches:
        raise ValueError(f"{folder} is not a folder of WebShop's files: it has no {pattern}")
    if len(matches) > 1:
        names = ", ".join(path.name for path in matches)
        raise ValueError(f"{folder} has several {pattern}: {names}; name the file of products")
    return matches[0]


def _read_products(path: Path, limit: int | None) -> dict[str, Product]:
    """Return the products by name, in order, as yet without attributes and nouns."""
    products: dict[str, Product] = {}
    for name, value in islice(records(path), limit):
        if limit is None and len(products) == MOST_PRODUCTS:
            raise ValueError(
                f"{path}, record {name}: that is more than {MOST_PRODUCTS} products; load them "
                "with a limit, or keep the first ones in a file of their own"
            )
        record = Record(path, name, value)
        asin = record.text("asin")
        # As in the original, which skips these.
        if asin != "nan" and len(asin) <= _LONGEST_ASIN and asin not in products:
            products[asin] = _product(asin, record)
    if not products:
        raise ValueError(f"{path} holds no products")
    return products


def _product(asin: str, record: Record) -> Product:
    lines = record.get("small_description")
    bullets = (lines,) if isinstance(lines, str) else record.texts("small_description")
    crumbs = record.text("product_category").split(_CRUMBS)
    return Product(
        asin=asin,
        title=record.text("name"),
        description=record.text("full_description"),
        bullets=bullets,
        price=_price(record),
        breadcrumbs=tuple(crumb.strip() for crumb in crumbs if crumb.strip()),
        query=record.text("query").lower().strip(),
        options=_options(record),
        attributes=(),
        nouns=(),
    )


def _price(record: Record) -> tuple[float, float]:
    """Return the price range of "$a" or "$a to $b"."""
    if "pricing" not in record or not record.get("pricing"):
        return MISSING_PRICE, MISSING_PRICE
    text = record.text("pricing")
    prices = [float(price.replace(",", "")) for price in _PRICE(text)][:2]
    if not prices:
        raise record.wrong("pricing", f'is not "$a" or "$a to $b" but {shorten(text)}')
    return min(prices), max(prices)


def _options(record: Record) -> tuple[tuple[str, tuple[str, ...]], ...]:
    field = "customization_options"
    offered = record.get(field)
    if not offered:
        return ()
    if not isinstance(offered, dict):
        raise record.wrong(field, f"is not an object of lists but {shorten(offered)}")
    options: dict[str, tuple[str, ...]] = {}
    for name, choices in offered.items():
        if choices is None:
            continue
        try:
            values = [choice["value"].strip().replace("/", " | ").lower() for choice in choices]
        except (TypeError, KeyError, AttributeError):
            problem = f"{shorten(name)} is not a list of objects with a text 'value'"
            raise record.wrong(field, problem) from None
        options[name.lower()] = tuple(values)
    return tuple(options.items())


def _read_attributes(path: Path, products: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the attributes by product; some products have none."""
    attributes: dict[str, tuple[str, ...]] = {}
    for asin, value in records(path):
        if asin in products:
            record = Record(path, asin, value)
            attributes[asin] = record.texts("attributes") if "attributes" in record else ()
    return attributes


def _digest(products: tuple[Product, ...]) -> str:
    digest = hashlib.sha256()
    for product in products:
        digest.update(repr(product).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:12]


Nouns = Iterator[tuple[str, ...]]
MODELS = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""spaCy's English models; the original uses the first one."""
RULE = "a rule: words of 3 letters or more but stop words, colours, long ones in -able, -less, ..."

_WORD = re.compile(r"[^\W\d_]{3,}").findall
_NO_NOUNS = STOP_WORDS | frozenset(COLOURS) | {"all", "from", "more", "our", "out", "you", "your"}
_ENDINGS = ("able", "ible", "less", "ful", "ous")
_LONG = 7
"""Fewest letters at which an ending marks an adjective: "durable", but not "table" or "cable"."""


def noun_finder() -> tuple[Callable[[Iterable[str]], Nouns], str]:
    """Return the function that finds the nouns of titles, and its name.

    It yields each title's nouns in lower case, in order and with repetitions. spaCy's models differ
    from the rule and from each other, so comparable rewards need the same method.
    """
    if importlib.util.find_spec("spacy") is None:
        return _by_rule, RULE
    import spacy

    model = next((name for name in MODELS if spacy.util.is_package(name)), None)
    if model is None:
        return _by_rule, f"{RULE} (spaCy is installed, and none of {', '.join(MODELS)})"
    pipe = spacy.load(model, exclude=["ner"]).pipe

    def by_spacy(titles: Iterable[str]) -> Nouns:
        for title in pipe(titles):
            yield tuple(t.text.lower() for t in title if t.pos_ in ("NOUN", "PROPN"))

    return by_spacy, f"spaCy {spacy.__version__}, {model}"


def _by_rule(titles: Iterable[str]) -> Nouns:
    for title in titles:
        yield tuple(filter(_may_be_noun, _WORD(title.lower())))


def _may_be_noun(word: str) -> bool:
    return word not in _NO_NOUNS and not (len(word) >= _LONG and word.endswith(_ENDINGS))
