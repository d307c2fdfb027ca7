"""The built-in suite by itself, without the simulator."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from bench2robust.core.canonical import canonical
from bench2robust.core.dataflow import Told
from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import digest
from bench2robust.core.paths import leaves
from bench2robust.core.types import Task
from bench2robust.domains.retail.data import RetailData
from bench2robust.domains.retail.generate import Sizes, builtin_data

SMALL = Sizes(plain=4, general=6, ambiguous=6, changing=6, test=7)
WRITES = ("cancel_", "modify_", "return_", "exchange_")
PINNED = "eb477fcd0bf1f3ef67b3183f05dd0592"


@pytest.fixture(scope="module")
def data() -> RetailData:
    return builtin_data()


def fingerprint(data: RetailData) -> str:
    tasks = [
        [
            t.id,
            t.split,
            t.intent,
            t.user.opening,
            dict(t.user.facts),
            t.user.changes,
            t.user.instructions,
            t.actions,
            t.outputs,
        ]
        for t in data.tasks
    ]
    tables = (data.products, data.users, data.orders, tasks)
    return digest(*map(canonical, tables), data.policy, size=16)


def entities(task: Task) -> Iterator[str]:
    for call in task.actions:
        for _, value in leaves(call.arguments):
            yield str(value)


def test_the_bytes_are_the_same_everywhere(data: RetailData) -> None:
    assert fingerprint(data) == PINNED


def test_another_seed_gives_another_suite() -> None:
    assert fingerprint(builtin_data(1, SMALL)) != fingerprint(builtin_data(0, SMALL))
    assert fingerprint(builtin_data(1, SMALL)) == fingerprint(builtin_data(1, SMALL))


def test_counts(data: RetailData) -> None:
    assert Counter(t.split for t in data.tasks) == {"train": 937, "test": 402}
    assert Counter(t.intent for t in data.tasks) == {
        "plain": 114,
        "general": 473,
        "ambiguous": 473,
        "changing": 279,
    }
    assert Counter(t.intent for t in data.tasks if t.split == "test") == {
        "plain": 34,
        "general": 142,
        "ambiguous": 142,
        "changing": 84,
    }
    assert len({t.id for t in data.tasks}) == len(data.tasks)
    assert all(t.id == f"{t.intent}_{int(t.id[-4:]):04d}" for t in data.tasks)
    assert (data.source, len(data.products)) == ("builtin", 50)


def test_sizes_are_parameters() -> None:
    small = builtin_data(3, SMALL)
    assert len(small.tasks) == 22
    assert sum(t.split == "test" for t in small.tasks) == 7
    assert not any(t.split == "test" for t in builtin_data(0, Sizes(1, 0, 0, 0, 0)).tasks)


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        (Sizes(plain=-1), "sizes.plain"),
        (Sizes(test=2000), "sizes.test"),
        (Sizes(0, 0, 0, 0, 0), "at least one task"),
    ],
)
def test_impossible_sizes_are_refused(sizes: Sizes, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        builtin_data(0, sizes)


def test_the_splits_share_no_user_and_no_order(data: RetailData) -> None:
    known = {**data.users, **data.orders}
    owner = {order["order_id"]: order["user_id"] for order in data.orders.values()}
    used: dict[str, set[str]] = {"train": set(), "test": set()}
    for task in data.tasks:
        mine = {value for value in entities(task) if value in known}
        users = {owner.get(value, value) for value in mine}
        assert len(users) == 1
        used[task.split] |= {*mine, *users, *data.users[users.pop()]["orders"]}
    assert used["train"].isdisjoint(used["test"])
    assert used["train"] | used["test"] == set(known)


def test_the_catalogue(data: RetailData) -> None:
    names = [product["name"] for product in data.products.values()]
    assert not any(a in b for a in names for b in names if a is not b)
    items = [v for p in data.products.values() for v in p["variants"].values()]
    assert len({v["item_id"] for v in items} | set(data.products)) == len(items) + 50
    assert {len(i) for i in (*data.products, *(v["item_id"] for v in items))} == {10}
    assert 0 < sum(not v["available"] for v in items) < len(items) / 2
    for product in data.products.values():
        variants = list(product["variants"].values())
        assert 6 <= len(variants) <= 16
        assert len({canonical(v["options"]) for v in variants}) == len(variants)
        assert {tuple(v["options"]) for v in variants} == {tuple(variants[0]["options"])}
        assert 2 <= len(variants[0]["options"]) <= 4
        prices = [v["price"] for v in variants]
        assert len(set(prices)) == len(prices)
        assert all(re.fullmatch(r"\d+\.\d[1-9]", repr(price)) for price in prices)


def test_the_records_have_the_shapes_of_the_schema(data: RetailData) -> None:
    for key, user in data.users.items():
        assert re.fullmatch(r"[a-z]+_[a-z]+_\d{4}", key) and key == user["user_id"]
        assert re.fullmatch(r"[a-z]+\.[a-z]+\d{4}@example\.com", user["email"])
        assert re.fullmatch(r"\d{5}", user["address"]["zip"]) and all(user["address"].values())
        for method_id, method in user["payment_methods"].items():
            assert re.fullmatch(r"(credit_card|paypal|gift_card)_\d{7}", method_id)
            assert method["id"] == method_id == f"{method['source']}_{method_id[-7:]}"
    people = {(*u["name"].values(), u["address"]["zip"]) for u in data.users.values()}
    assert len(people) == len({u["email"] for u in data.users.values()}) == len(data.users)
    for key, order in data.orders.items():
        assert re.fullmatch(r"#W\d{7}", key) and key == order["order_id"]
        user = data.users[order["user_id"]]
        assert key in user["orders"]
        assert order["status"] in ("pending", "processed", "delivered", "cancelled")
        assert bool(order["fulfillments"]) == (order["status"] != "pending")
        paid = order["payment_history"][0]
        assert paid["payment_method_id"] in user["payment_methods"]
        assert paid["amount"] == pytest.approx(sum(i["price"] for i in order["items"]), abs=1e-9)
        assert paid["amount"] == round(paid["amount"], 2)
        for item in order["items"]:
            variant = data.products[item["product_id"]]["variants"][item["item_id"]]
            assert all(item[k] == variant[k] for k in ("item_id", "price", "options"))


def test_a_user_has_each_kind_of_product_once(data: RetailData) -> None:
    for user in data.users.values():
        names = [item["name"] for o in user["orders"] for item in data.orders[o]["items"]]
        assert len(set(names)) == len(names)


def test_gold_calls_are_few_and_hand_over_to_nobody(data: RetailData) -> None:
    for task in data.tasks:
        names = [call.name for call in task.actions]
        assert 4 <= len(names) <= 11
        assert names[0].startswith("find_user_id_by_") and names[1] == "get_user_details"
        assert 1 <= sum(name.startswith(WRITES) for name in names) <= 4
        assert not any("transfer" in name for name in names)
    lookups = Counter(task.actions[0].name for task in data.tasks)
    assert min(lookups.values()) > 400


def test_an_order_is_read_before_it_is_changed(data: RetailData) -> None:
    for task in data.tasks:
        read: set[str] = set()
        for call in task.actions:
            if call.name == "get_order_details":
                read.add(call.arguments["order_id"])
            elif call.name.startswith(WRITES) and call.name != "modify_user_address":
                assert call.arguments["order_id"] in read


def test_no_write_can_be_formed_from_what_the_user_tells(data: RetailData) -> None:
    for task in data.tasks:
        told = task.user.text()
        for call in task.actions:
            if call.name.startswith(WRITES):
                assert not all(Told(told).has(value) for _, value in leaves(call.arguments))


def test_outputs_are_not_told_and_most_tasks_need_amounts(data: RetailData) -> None:
    for task in data.tasks:
        assert not any(Told(task.user.text()).has(output) for output in task.outputs)
    amounts = sum(any("." in output for output in task.outputs) for task in data.tasks)
    assert 0.6 < amounts / len(data.tasks) < 0.8


def test_the_user_can_be_found_in_every_way(data: RetailData) -> None:
    for task in data.tasks:
        facts = task.user.facts
        user = next(data.users[value] for value in entities(task) if value in data.users)
        assert facts["email"] == f"My email is {user['email']}."
        assert facts["zip"] == f"My zip code is {user['address']['zip']}."
        assert facts["name"] == "My name is {first_name} {last_name}.".format_map(user["name"])
        known = re.findall(r"#W\d{7}", task.user.text())
        assert set(known) == set(re.findall(r"#W\d{7}", facts["order"])) and known
        assert set(known) <= set(user["orders"])


def test_intents(data: RetailData) -> None:
    for task in data.tasks:
        assert bool(task.user.changes) == (task.intent == "changing")
        assert task.user.opening in task.user.instructions
        assert all(text in task.user.instructions for text in task.user.changes)


def test_most_users_describe_their_orders_by_what_is_in_them(data: RetailData) -> None:
    numbered = sum("#W" in task.user.opening for task in data.tasks)
    assert 0.05 < numbered / len(data.tasks) < 0.3
