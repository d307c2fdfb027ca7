"""What an agent is shown of the twenty-one tools, and which of their result fields matter."""

from __future__ import annotations

from typing import Any

from bench2robust.core.types import ResultFields, ToolKind, ToolSpec

__all__ = ["ALTERNATIVE_SPECS", "STOCK_SPECS", "TRANSFER"]

TRANSFER = "transfer_to_human_agents"

_TEXT = {
    "address1": "First line of the address, such as '12 Elm Street'.",
    "address2": "Second line of the address, such as 'Suite 3'; may be empty.",
    "city": "City, such as 'Denver'.",
    "country": "Country, such as 'USA'.",
    "email": "Email address of the user, such as 'jane.roe@example.com'.",
    "expression": "Numbers, + - * /, parentheses and spaces, such as '3 * (2 + 4)'.",
    "first_name": "First name of the user, such as 'Jane'.",
    "item_id": "Id of one variant of a product, such as '1234567890'. Not a product id.",
    "last_name": "Last name of the user, such as 'Roe'.",
    "name": "Name of the product type, such as 'Desk Lamp'; upper or lower case.",
    "order_id": "Order id with its leading '#', such as '#W0123456'.",
    "payment_method_id": "Id of one of the user's payment methods, such as 'paypal_0123456'.",
    "product_id": "Id of a product type, such as '1234567890'. Not an item id.",
    "product_name": "Name of the product type, such as 'Desk Lamp'; upper or lower case.",
    "reason": "Either 'no longer needed' or 'ordered by mistake'.",
    "state": "State, as its two-letter code, such as 'CO'.",
    "summary": "What the user wants and why it needs a human.",
    "user_id": "User id, such as 'jane_roe_1234'.",
    "zip": "Zip code, such as '80201'.",
}
_LISTS = {
    "item_ids": "Ids of the order's items that this is about; one entry per piece.",
    "new_item_ids": (
        "Ids of the variants to get instead: as many as item_ids, in the same order, each of the "
        "same product as the item it replaces."
    ),
}
_ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
_SWAP = ("order_id", "item_ids", "new_item_ids", "payment_method_id")

_STATES = ("pending", "processed", "delivered")
_ROOT = ResultFields(contents=((),))
_ORDER = ResultFields(
    contents=(("items",), ("payment_history",)),
    states=((("status",), _STATES),),
    amounts=(
        ("items", "*", "price"),
        ("payment_history", "*", "amount"),
        ("exchange_price_difference",),
    ),
)
_USER = ResultFields(
    contents=(("payment_methods",), ("orders",), ("address",)),
    amounts=(("payment_methods", "*", "balance"),),
)
_PRODUCT = ResultFields(contents=(("variants",),), amounts=(("variants", "*", "price"),))
_ITEM = ResultFields(contents=(("options",),), amounts=(("price",),))
_SUMMARIES = ResultFields(
    contents=((), ("*", "item_names")),
    states=((("*", "status"), _STATES),),
    amounts=(("*", "total"),),
)
_AVAILABILITY = ResultFields(
    contents=(("items",), ("items", "*", "available_variants")),
    amounts=(("items", "*", "price"), ("items", "*", "available_variants", "*", "price")),
)


def _schema(names: tuple[str, ...]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name in names:
        if name in _LISTS:
            properties[name] = {
                "type": "array",
                "items": {"type": "string"},
                "description": _LISTS[name],
            }
        elif name == "options":
            properties[name] = {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Option names and values, such as {'color': 'black'}.",
            }
        else:
            properties[name] = {"type": "string", "description": _TEXT[name]}
    return {
        "type": "object",
        "properties": properties,
        "required": list(names),
        "additionalProperties": False,
    }


def _spec(
    name: str,
    kind: ToolKind,
    parameters: tuple[str, ...],
    description: str,
    fields: ResultFields = _ROOT,
) -> ToolSpec:
    return ToolSpec(name, description, _schema(parameters), kind, fields, name != TRANSFER)


STOCK_SPECS: tuple[ToolSpec, ...] = (
    _spec(
        "find_user_id_by_email",
        "read",
        ("email",),
        "Look up the id of the user who has this email address.",
    ),
    _spec(
        "find_user_id_by_name_zip",
        "read",
        ("first_name", "last_name", "zip"),
        "Look up the id of the user who has this name and zip code, for users who cannot give "
        "their email address.",
    ),
    _spec(
        "get_user_details",
        "read",
        ("user_id",),
        "Get a user's name, address, email, payment methods and order ids.",
        _USER,
    ),
    _spec(
        "get_order_details",
        "read",
        ("order_id",),
        "Get an order: status, items, address, shipments and payments.",
        _ORDER,
    ),
    _spec(
        "get_product_details",
        "read",
        ("product_id",),
        "Get a product type with all its variants: options, price and availability.",
        _PRODUCT,
    ),
    _spec(
        "get_item_details",
        "read",
        ("item_id",),
        "Get one variant of a product: options, price and availability.",
        _ITEM,
    ),
    _spec(
        "list_all_product_types",
        "read",
        (),
        "List every product type of the store: its name and product id.",
    ),
    _spec(
        "cancel_pending_order",
        "write",
        ("order_id", "reason"),
        "Cancel an order that is still pending, and refund it: to a gift card at once, otherwise "
        "within days. Explain this and get the user's explicit yes first.",
        _ORDER,
    ),
    _spec(
        "modify_pending_order_address",
        "write",
        ("order_id", *_ADDRESS),
        "Change the shipping address of a pending order. Get the user's explicit yes first.",
        _ORDER,
    ),
    _spec(
        "modify_pending_order_items",
        "write",
        _SWAP,
        "Replace items of a pending order by other variants of the same products. Works once per "
        "order, so name every item. Get the user's explicit yes first.",
        _ORDER,
    ),
    _spec(
        "modify_pending_order_payment",
        "write",
        ("order_id", "payment_method_id"),
        "Charge a pending order to another payment method. Get the user's explicit yes first.",
        _ORDER,
    ),
    _spec(
        "modify_user_address",
        "write",
        ("user_id", *_ADDRESS),
        "Change a user's default address. Get the user's explicit yes first.",
        _USER,
    ),
    _spec(
        "return_delivered_order_items",
        "write",
        ("order_id", "item_ids", "payment_method_id"),
        "Request the return of items of a delivered order. The refund goes to the original "
        "payment method or to a gift card. Get the user's explicit yes first.",
        _ORDER,
    ),
    _spec(
        "exchange_delivered_order_items",
        "write",
        _SWAP,
        "Request the exchange of items of a delivered order for other variants of the same "
        "products. Works once per order, so name every item. Get the user's explicit yes first.",
        _ORDER,
    ),
    _spec(
        "calculate",
        "generic",
        ("expression",),
        "Work out an arithmetic expression, rounded to two decimals.",
    ),
    _spec(
        TRANSFER,
        "generic",
        ("summary",),
        "Hand the user over to a human agent: when the user insists on one, or when neither the "
        "policy nor the tools allow the request.",
    ),
)
"""The sixteen tools of τ²-bench retail."""

ALTERNATIVE_SPECS: tuple[ToolSpec, ...] = (
    _spec(
        "search_product_by_name",
        "read",
        ("name",),
        "Get a product type with all its variants, by the product's name.",
        _PRODUCT,
    ),
    _spec(
        "get_item_by_product_options",
        "read",
        ("product_name", "options"),
        "Get the one variant of a product that has these options: its item id, price and "
        "availability.",
        _ITEM,
    ),
    _spec(
        "get_orders_for_user",
        "read",
        ("user_id",),
        "Get a summary of all orders of a user: status, product names, total and payment method. "
        "Without item ids.",
        _SUMMARIES,
    ),
    _spec(
        "get_user_by_order",
        "read",
        ("order_id",),
        "Look up the id of the user who placed an order.",
    ),
    _spec(
        "check_order_item_availability",
        "read",
        ("order_id",),
        "Get the items of an order with their item ids, and for each the available variants of "
        "its product.",
        _AVAILABILITY,
    ),
)
"""The five tools of table 8 that are added with the alternatives."""
