"""The state of a retail store: one immutable base for all episodes, copy-on-write per record.

Records are kept as JSON text. A read of an untouched record returns the base's own text; a write
parses one record, changes it and keeps the new text for its episode alone.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import orjson

from bench2robust.domains.retail.data import Record, RetailData

__all__ = ["Base", "RefusedError", "State"]


class RefusedError(Exception):
    """A tool refuses a call; the text is what the agent reads after ``Error: ``."""


class Base:
    """What a store holds at the start of every episode. Never changed, shared by all sessions.

    Products, emails and whose an order is cannot be changed by any tool, so what is derived from
    them is worked out once.

    Attributes:
        texts: ``orders/#W1``, ``users/…`` or ``products/…`` to the record's JSON text.
        products: parsed products by id, for look-ups only.
        items: item id to the id of its product.
        by_name: lower-case product name to product id.
        product_types: the JSON text that maps every product's name to its id.
        emails: lower-case email to user id.
        by_name_zip: lower-case first and last name and zip code to user ids.
        orders_of: user id to the ids of the user's orders.
        owner: order id to the id of its user.
    """

    def __init__(self, data: RetailData) -> None:
        self.texts = MappingProxyType(
            {
                f"{kind}/{key}": _dump(record)
                for kind in ("products", "users", "orders")
                for key, record in getattr(data, kind).items()
            }
        )
        self.products = data.products
        self.items: dict[str, str] = {}
        self.by_name: dict[str, str] = {}
        for product_id, product in data.products.items():
            self.by_name.setdefault(product["name"].lower(), product_id)
            for item_id in product["variants"]:
                self.items.setdefault(item_id, product_id)
        names = {product["name"]: key for key, product in data.products.items()}
        self.product_types = _dump(dict(sorted(names.items())))
        self.owner: dict[str, str] = {key: order["user_id"] for key, order in data.orders.items()}
        self._index_users(data)
        self._derived: dict[tuple[str, str], str] = {}

    def _index_users(self, data: RetailData) -> None:
        self.emails: dict[str, str] = {}
        self.by_name_zip: dict[tuple[str, str, str], list[str]] = {}
        self.rank: dict[str, int] = {}
        self.orders_of: dict[str, tuple[str, ...]] = {}
        for user_id, user in data.users.items():
            self.rank[user_id] = len(self.rank)
            self.emails.setdefault(user["email"].lower(), user_id)
            self.by_name_zip.setdefault(_name_zip(user), []).append(user_id)
            self.orders_of[user_id] = tuple(user["orders"])

    def derived(self, what: str, path: str, build: Callable[[Record], str]) -> str:
        """Return ``build`` of an untouched record, worked out once."""
        key = (what, path)
        text = self._derived.get(key)
        if text is None:
            text = self._derived[key] = build(orjson.loads(self.texts[path]))
        return text


class State:
    """One episode's view of the store.

    Attributes:
        changed: the records that this episode wrote, as text.
        revision: rises with every write that changed a record's text.
    """

    __slots__ = ("base", "changed", "revision")

    def __init__(self, base: Base) -> None:
        self.base = base
        self.changed: dict[str, str] = {}
        self.revision = 0

    def text(self, kind: str, key: str) -> str:
        """Return a record's JSON text.

        Args:
            kind: ``products``, ``users`` or ``orders``.

        Raises:
            RefusedError: there is no such record.
        """
        path = f"{kind}/{key}"
        text = self.changed.get(path) or self.base.texts.get(path)
        if text is None:
            raise RefusedError(f"{kind[:-1].capitalize()} not found")
        return text

    def record(self, kind: str, key: str) -> Record:
        """Return a private copy of a record. Raises ``RefusedError`` if there is none."""
        record: Record = orjson.loads(self.text(kind, key))
        return record

    def save(self, kind: str, key: str, record: Record) -> str:
        """Keep a record and return its text."""
        text = _dump(record)
        if text != self.text(kind, key):
            self.changed[f"{kind}/{key}"] = text
            self.revision += 1
        return text

    def derived(self, kind: str, key: str, what: str, build: Callable[[Record], str]) -> str:
        """Return a text that depends on one record (and on products) only."""
        path = f"{kind}/{key}"
        if path in self.changed or path not in self.base.texts:
            return build(self.record(kind, key))
        return self.base.derived(what, path, build)

    def delta(self) -> dict[str, str]:
        """Return the text of every record that differs from the base, by ``kind/id``."""
        texts = self.base.texts
        return {path: text for path, text in self.changed.items() if text != texts[path]}

    def user_by_name_zip(self, first: str, last: str, zip_code: str) -> str | None:
        """Return the first user, in the base's order, who now has this name and zip code."""
        key = (first.lower(), last.lower(), zip_code)
        found = [u for u in self.base.by_name_zip.get(key, ()) if f"users/{u}" not in self.changed]
        for path, text in self.changed.items():
            kind, _, user_id = path.partition("/")
            if kind == "users" and _name_zip(orjson.loads(text)) == key:
                found.append(user_id)
        return min(found, key=self.base.rank.__getitem__, default=None)


def _name_zip(user: Record) -> tuple[str, str, str]:
    name = user["name"]
    return (name["first_name"].lower(), name["last_name"].lower(), user["address"]["zip"])


def _dump(record: object) -> str:
    # Bytes kept from orjson hold a whole 4 kB block each; decoded text holds what it needs.
    return orjson.dumps(record).decode()
