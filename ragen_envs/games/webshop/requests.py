"""Requests of the public files, and the shopping tasks that are drawn from them.

The original draws prices before it seeds its generator, so its goals differ between processes.
Here the instance's stream decides everything. A price cap is above the target's highest price; the
original uses the drawn price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.webshop.goals import ShoppingTask
from ragen_envs.games.webshop.json_records import Record, records, shorten
from ragen_envs.games.webshop.products import Catalogue, Goal, Product
from ragen_envs.games.webshop.reward import normal_value

Options = tuple[tuple[str, str], ...]
NO_CAP = 1_000_000.0
"""The cap in dollars of a request without one."""
_CAPS = range(10, 1000, 10)
_NEAREST_CAPS = 4
NO_ATTRIBUTES = "ask for no attribute"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the files have it.

    Attributes:
        product: Position of the target in the catalogue.
        instruction: Text, without drawn options and without a price.
        attributes: Requested attributes, at least one.
        options: Requested options; None to draw one value of each.
        lacking: Requested values that the product does not offer, including the empty one.
    """

    product: int
    instruction: str
    attributes: tuple[str, ...]
    options: Options | None
    lacking: tuple[str, ...] = ()


def read_requests(
    path: Path, products: Sequence[Product], human: bool
) -> tuple[tuple[Request, ...], dict[str, int]]:
    """Return the requests for these products, and the numbers of skipped requests by reason.

    Raises:
        ValueError: The file has another schema, or a generated request has no attribute; one
            line that names file, record and field.
    """
    places = {product.asin: i for i, product in enumerate(products)}
    requests: list[Request] = []
    left_out: Counter[str] = Counter()
    for asin, value in records(path):
        if asin not in places:
            continue
        place = places[asin]
        if human:
            for request_or_reason in _read_human(path, asin, value, place, products[place]):
                if isinstance(request_or_reason, str):
                    left_out[request_or_reason] += 1
                else:
                    requests.append(request_or_reason)
        elif request := _read_generated(Record(path, asin, value), place, products[place]):
            requests.append(request)
    requests.sort(key=lambda request: request.product)
    return tuple(requests), dict(left_out)


def with_offered_options(requests: Sequence[Request]) -> tuple[Request, ...]:
    """Return the requests whose options are all offered, which the suite's own reward needs.

    An empty value asks for nothing there.
    """
    return tuple(replace(one, lacking=()) for one in requests if not any(one.lacking))


def _read_generated(record: Record, place: int, product: Product) -> Request | None:
    """Return the generated request of a product, None if it has none."""
    if "instruction" not in record or not all(values for _, values in product.options):
        return None
    attributes = record.texts("instruction_attributes")
    if not attributes:
        raise record.wrong("instruction_attributes", "is empty: a goal asks for at least one")
    return Request(place, record.text("instruction"), attributes, None)


def _read_human(
    path: Path, asin: str, value: object, place: int, product: Product
) -> Iterator[Request | str]:
    """Yield the requests that people wrote for a product, or the reason for skipping one."""
    if not isinstance(value, list):
        raise ValueError(f"{path}, record {asin}: is not a list of requests but {shorten(value)}")
    for number, entry in enumerate(value, 1):
        record = Record(path, f"{asin}, request {number}", entry)
        attributes = record.texts("instruction_attributes")
        options, lacking = _match_options(record.texts("instruction_options"), product)
        instruction = record.text("instruction").strip(".")
        if not attributes:
            yield NO_ATTRIBUTES
        else:
            yield Request(place, instruction, attributes, options, lacking)


def _match_options(values: Sequence[str], product: Product) -> tuple[Options, tuple[str, ...]]:
    """Return values with the names of their options, which the file lacks, and values without one.

    No two values are of the same option.
    """
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
        goal = _goal(request, product, stream)
        yield ShoppingTask(goal, product.asin, catalogue.name)


def _goal(request: Request, product: Product, stream: RandomStream) -> Goal:
    options = request.options
    instruction = request.instruction
    if options is None:
        options = tuple(
            (name, values[stream.below(len(values))]) for name, values in sorted(product.options)
        )
        wishes = ", and ".join(f"{name}: {value}" for name, value in options)
        instruction += f" with {wishes}" if wishes else ""
    cap = _cap(product.price[1], stream)
    if cap < NO_CAP:
        instruction += f", and price lower than {cap:.2f} dollars"
    by_value = request.options is not None
    return Goal(
        request.product, instruction, request.attributes, options, cap, by_value, request.lacking
    )


def _cap(price: float, stream: RandomStream) -> float:
    """Return the higher of two of the next four multiples of ten dollars, or no cap above 980."""
    above = [cap for cap in _CAPS if cap > price][:_NEAREST_CAPS]
    return float(max(stream.sample(above, 2))) if len(above) > 1 else NO_CAP
