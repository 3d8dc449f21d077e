"""Loader of WebShop's public files, `items_shuffle*.json`, `items_ins_v2*.json`, and their tasks.

The original draws prices before it seeds its generator, so its goals differ between processes.
Here the instance's stream decides everything. A price cap is above the target's highest price; the
original uses the drawn price.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.terms import STOP_WORDS
from ragen_envs.games.webshop.goals import ShoppingTask
from ragen_envs.games.webshop.json_records import Record, records, shorten
from ragen_envs.games.webshop.products import Catalogue, Goal, Product
from ragen_envs.games.webshop.reward import COLOURS, normal_value

NO_CAP = 1_000_000.0
"""The cap in dollars of a request without one."""
_CAPS = range(10, 1000, 10)
_NEAREST_CAPS = 4
MOST_PRODUCTS = 200_000
"""Most products that are read; each takes about 6 kB of memory."""
MISSING_PRICE = 100.0
"""Price in dollars of a product without one."""
_LONGEST_ASIN = 10
_CRUMBS = "\u203a"
_PRICE = re.compile(r"\$\D*(\d[\d,]*\.?\d*)").findall

Choices = tuple[tuple[str, str], ...]
"""Options as (name, value)."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the files have it, for the product at a position.

    The instruction is without drawn options and without a price. There is at least one attribute.
    `options` is None to draw one value of each. `lacking` are requested values that the product
    does not offer, including the empty one.
    """

    product: int
    instruction: str
    attributes: tuple[str, ...]
    options: Choices | None
    lacking: tuple[str, ...] = ()


class PublicShop(NamedTuple):
    """The content of the public files; the catalogue's name is derived from it."""

    catalogue: Catalogue
    requests: tuple[Request, ...]


def load(where: Path) -> PublicShop:
    """Read the public files of a folder, or of a file `items_shuffle*.json` if it has several.

    Requests are those that people wrote if their file exists, else the generated ones of
    `items_ins_v2*.json`. Invalid files raise ValueError of one line.
    """
    folder = where.parent if where.is_file() else where
    file = where if where.is_file() else _only(folder, "items_shuffle*.json")
    same = folder / f"items_ins_v2{file.stem.removeprefix('items_shuffle')}.json"
    instructions = same if same.is_file() else _only(folder, "items_ins_v2*.json")
    bare = _read_products(file)
    attributes: dict[str, tuple[str, ...]] = {}
    for asin, value in records(instructions):
        if asin in bare:
            record = Record(instructions, asin, value)
            attributes[asin] = record.texts("attributes") if "attributes" in record else ()
    nouns = noun_finder()(product.title for product in bare.values())
    products = tuple(
        replace(product, attributes=attributes.get(product.asin, ()), nouns=product_nouns)
        for product, product_nouns in zip(bare.values(), nouns, strict=True)
    )
    human = folder / "items_human_ins.json"
    asked = human if human.is_file() else instructions
    requests = _read_requests(asked, products, is_human=asked is human)
    if not requests:
        raise ValueError(f"{asked} has no request for any of the {len(products)} products")
    digest = hashlib.sha256()
    for product in products:
        digest.update(repr(product).encode("utf-8", "backslashreplace"))
    name = f"{file.stem}-{len(products)}-{digest.hexdigest()[:12]}"
    return PublicShop(Catalogue(products, name, ties_by_asin=True), requests)


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


def _read_products(path: Path) -> dict[str, Product]:
    """Return the products by name, in order, as yet without attributes and nouns."""
    products: dict[str, Product] = {}
    for name, value in records(path):
        if len(products) == MOST_PRODUCTS:
            raise ValueError(
                f"{path}, record {name}: that is more than {MOST_PRODUCTS} products; keep the "
                "first ones in a file of their own"
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


Nouns = Iterator[tuple[str, ...]]
MODELS = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""spaCy's English models; the original uses the first one."""
_WORD = re.compile(r"[^\W\d_]{3,}").findall
_NO_NOUNS = STOP_WORDS | frozenset(COLOURS) | {"all", "from", "more", "our", "out", "you", "your"}
_ENDINGS = ("able", "ible", "less", "ful", "ous")
_LONG = 7
"""Fewest letters at which an ending marks an adjective: "durable", but not "table" or "cable"."""


def noun_finder() -> Callable[[Iterable[str]], Nouns]:
    """Return the function that yields each title's nouns in lower case, in order.

    spaCy's models differ from the rule, which is taken without one, and from each other, so
    comparable rewards need the same method.
    """
    if importlib.util.find_spec("spacy") is None:
        return _by_rule
    import spacy

    model = next((name for name in MODELS if spacy.util.is_package(name)), None)
    if model is None:
        return _by_rule
    pipe = spacy.load(model, exclude=["ner"]).pipe

    def by_spacy(titles: Iterable[str]) -> Nouns:
        for title in pipe(titles):
            yield tuple(t.text.lower() for t in title if t.pos_ in ("NOUN", "PROPN"))

    return by_spacy


def _by_rule(titles: Iterable[str]) -> Nouns:
    """Yield words of 3 letters or more, but stop words, colours, and long ones in -able, ..."""
    for title in titles:
        yield tuple(
            word
            for word in _WORD(title.lower())
            if word not in _NO_NOUNS and not (len(word) >= _LONG and word.endswith(_ENDINGS))
        )


def _read_requests(path: Path, products: Sequence[Product], is_human: bool) -> tuple[Request, ...]:
    """Return the requests for these products."""
    places = {product.asin: i for i, product in enumerate(products)}
    requests: list[Request] = []
    for asin, value in records(path):
        if asin not in places:
            continue
        place = places[asin]
        product = products[place]
        if is_human:
            requests += _read_human(path, asin, value, place, product)
            continue
        record = Record(path, asin, value)
        if "instruction" in record and all(values for _, values in product.options):
            attributes = record.texts("instruction_attributes")
            if not attributes:
                raise record.wrong(
                    "instruction_attributes", "is empty: a goal asks for at least one"
                )
            requests.append(Request(place, record.text("instruction"), attributes, None))
    requests.sort(key=lambda request: request.product)
    return tuple(requests)


def with_offered_options(requests: Sequence[Request]) -> tuple[Request, ...]:
    """Return the requests whose options are all offered; an empty value asks for nothing."""
    return tuple(replace(one, lacking=()) for one in requests if not any(one.lacking))


def _read_human(
    path: Path, asin: str, value: object, place: int, product: Product
) -> Iterator[Request]:
    """Yield the requests that people wrote for a product, but for those without attributes."""
    if not isinstance(value, list):
        raise ValueError(f"{path}, record {asin}: is not a list of requests but {shorten(value)}")
    for number, entry in enumerate(value, 1):
        record = Record(path, f"{asin}, request {number}", entry)
        attributes = record.texts("instruction_attributes")
        options, lacking = _match_options(record.texts("instruction_options"), product)
        instruction = record.text("instruction").strip(".")
        if attributes:
            yield Request(place, instruction, attributes, options, lacking)


def _match_options(values: Sequence[str], product: Product) -> tuple[Choices, tuple[str, ...]]:
    """Return values with the names of different options, which the file lacks, and the others."""
    named: dict[str, str] = {}
    lacking: list[str] = []
    for wanted in map(normal_value, values):
        for name, offered in product.options:
            same = [value for value in offered if normal_value(value) == wanted]
            if same and name not in named:
                named[name] = same[0]
                break
        else:
            lacking.append(wanted)
    return tuple(named.items()), tuple(lacking)


def tasks(
    catalogue: Catalogue, requests: Sequence[Request], stream: RandomStream
) -> Iterator[ShoppingTask]:
    """Yield tasks, each a pure function of the stream; the target decides a task's split."""
    while True:
        request = requests[stream.below(len(requests))]
        product = catalogue.products[request.product]
        yield ShoppingTask(_goal(request, product, stream), product.asin, catalogue.name)


def _goal(request: Request, product: Product, stream: RandomStream) -> Goal:
    """Return a goal with drawn options and a cap, if the request has none.

    The cap is the higher of two of the next four multiples of ten dollars, or none above 980.
    """
    options = request.options
    instruction = request.instruction
    if options is None:
        options = tuple(
            (name, values[stream.below(len(values))]) for name, values in sorted(product.options)
        )
        wishes = ", and ".join(f"{name}: {value}" for name, value in options)
        instruction += f" with {wishes}" if wishes else ""
    above = [cap for cap in _CAPS if cap > product.price[1]][:_NEAREST_CAPS]
    cap = float(max(stream.sample(above, 2))) if len(above) > 1 else NO_CAP
    if cap < NO_CAP:
        instruction += f", and price lower than {cap:.2f} dollars"
    by_value = request.options is not None
    return Goal(
        request.product, instruction, request.attributes, options, cap, by_value, request.lacking
    )
