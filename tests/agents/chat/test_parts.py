from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents.chat import Budget, Patience, Price, Spending, load_prices
from bench2robust.agents.chat.backoff import retry_after
from bench2robust.agents.chat.wire import (
    BrokenAnswerError,
    Encoder,
    is_overflow,
    problem,
    read_reply,
)
from bench2robust.core.chat import ContextOverflowError, RunStoppedError, Usage
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.chat_settings import ChatSettings
from bench2robust.evaluation.config import EvalConfig
from bench2robust.memory import dump, load

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)

# ---- waiting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("0.25", 0.25),
        ("-5", 0.0),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


@given(st.integers(1, 1000), st.none() | st.floats(0, 100), st.text())
def test_waits_are_bounded_and_honour_the_server(
    attempt: int, asked: float | None, key: str
) -> None:
    patience = Patience(first=0.5, longest=30.0)
    wait = patience.wait(attempt, asked, key)
    grown = min(30.0, 0.5 * 2.0 ** min(attempt - 1, 30))
    assert (asked or 0) + grown / 2 <= wait <= (asked or 0) + grown
    assert wait == patience.wait(attempt, asked, key)


def test_requests_that_failed_together_come_back_apart() -> None:
    waits = {Patience().wait(3, None, "episode", n) for n in range(100)}
    assert len(waits) == 100 and max(waits) - min(waits) > 0.8


# ---- money -----------------------------------------------------------------------------------


def test_prices_of_a_request() -> None:
    price = Price(input=2.0, output=8.0, cached=0.5)
    assert price.of(Usage(1_000_000, 0)) == 2.0
    assert price.of(Usage(1_000_000, 500_000, cached=400_000)) == pytest.approx(1.2 + 0.2 + 4.0)


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    spending = Spending()
    spending.add(Usage(10, 5), Price(1, 1, 1))
    assert spending.cost == pytest.approx(15e-6) and spending.tokens == 15
    spending.add(Usage(10, 5, estimated=True), None)
    spending.add(Usage(10, 5), Price(1, 1, 1))
    assert spending.cost is None and (spending.requests, spending.estimated) == (3, 1)


def test_a_budget() -> None:
    budget = Budget(tokens=100)
    budget.add(Usage(50, 49), None)
    budget.check()
    budget.add(Usage(1, 0), None)
    with pytest.raises(RunStoppedError, match="100 of 100 tokens"):
        budget.check()


def test_the_prices_of_the_package() -> None:
    prices = load_prices()
    assert prices["gpt-4o-mini"] == Price(0.15, 0.60, 0.075)
    assert "SmolLM2-135M" not in prices


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("models: {m: {input: 1, output: -1}}", "output: -1"),
        ("models: {m: {input: 1, output: x}}", "not an amount"),
        ("models: {m: {input: 1}}", "lacks output"),
        ("models: {m: 3}", "price of m"),
        ("models: [", "line 1, is not valid YAML"),
        ("m: {input: 1, output: 1}", "models:"),
    ],
)
def test_broken_prices(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=reason):
        load_prices(str(path))


def test_a_misspelt_kind_of_price(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("models: {m: {inputs: 1, output: 1}}")
    with pytest.raises(UnknownNameError, match="'input'"):
        load_prices(str(path))


# ---- requests --------------------------------------------------------------------------------


@given(st.lists(st.lists(st.text(), max_size=6), max_size=6))
def test_what_was_sent_before_is_written_the_same(dialogues: list[list[str]]) -> None:
    """Whatever is added, replaced or taken away, a request says what its messages say."""
    known: dict[str, dict[str, Any]] = {}
    encoder, tools = Encoder("m", {"temperature": 0}), [{"type": "function"}]
    for texts in dialogues:
        messages = [known.setdefault(text, {"role": "user", "content": text}) for text in texts]
        sent = json.loads(encoder.encode(messages, tools))
        assert sent == {"model": "m", "temperature": 0, "messages": messages, "tools": tools}
    assert "tools" not in json.loads(encoder.encode([], ()))


# ---- answers ---------------------------------------------------------------------------------


def test_usage_that_is_missing_is_estimated() -> None:
    reply = read_reply('{"choices": [{"message": {"content": "abcdefg"}}]}', sent=350)
    assert reply.usage == Usage(100, 2, estimated=True)
    assert reply.finish == ""


def test_usage_with_a_cache() -> None:
    usage = '{"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 99}}'  # noqa: E501
    text = '{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": %s}'
    assert read_reply(text % usage, 1).usage == Usage(9, 2, cached=9)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('"Hello"', "Hello"),
        ("null", ""),
        ('[{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}, 3]', "Hello"),
        ("7", ""),
    ],
)
def test_contents(content: str, text: str) -> None:
    assert read_reply(f'{{"choices": [{{"message": {{"content": {content}}}}}]}}', 1).text == text


def test_a_refusal_is_what_the_model_says() -> None:
    text = '{"choices": [{"message": {"content": null, "refusal": "I will not."}}]}'
    assert read_reply(text, 1).text == "I will not."


@pytest.mark.parametrize(
    "text",
    ["", "<html>", "[]", "{}", '{"choices": []}', '{"choices": [1]}', '{"choices": [{}]}',
     '{"choices": [{"message": "x"}]}', '{"error": {"message": "overloaded"}}', "[" * 5000],
)  # fmt: skip
def test_what_is_no_completion(text: str) -> None:
    with pytest.raises(BrokenAnswerError):
        read_reply(text, 1)


def test_an_overflow_with_status_200() -> None:
    with pytest.raises(ContextOverflowError):
        read_reply('{"error": {"message": "maximum context length is 4096 tokens"}}', 1)


@pytest.mark.parametrize(
    ("status", "text", "is_one"),
    [
        (400, "request (9033 tokens) exceeds the available context size (4096 tokens)", True),
        (400, '{"error": {"code": "context_length_exceeded"}}', True),
        (400, "This model's maximum context length is 8192 tokens", True),
        (413, "prompt is too long: 210000 tokens > 200000 maximum", True),
        (500, "maximum context length", False),
        (400, "tools are not supported", False),
    ],
)
def test_overflows(status: int, text: str, is_one: bool) -> None:
    assert is_overflow(status, text) is is_one


@given(st.text())
def test_any_body_of_an_error_has_a_short_text(text: str) -> None:
    assert len(problem(text)) <= 300 and "\n" not in problem(text)


def test_what_an_error_says() -> None:
    assert problem('{"error": {"message": "no such\\nmodel"}}') == "no such model"
    assert problem("<html><b>Bad</b> gateway</html>") == "Bad gateway"


# ---- settings --------------------------------------------------------------------------------


def test_where_a_model_is_does_not_decide_results_but_how_it_is_asked_does() -> None:
    def hashed(**chat: Any) -> str:
        return EvalConfig.read({"agents": "chat:m", "chat": chat}).hash("suite")

    plain = hashed()
    for same in ({"base_url": "http://h/v1"}, {"attempts": 3}, {"timeout": 5}, {"backoff": 0}):
        assert hashed(**same) == plain
    for other in ({"temperature": 1}, {"seed": 1}, {"context": 9000}, {"extra": {"top_p": 0.9}}):
        assert hashed(**other) != plain
    assert EvalConfig.read({"agents": "chat:other"}).hash("suite") != plain


def test_how_a_user_is_asked_decides_results_too() -> None:
    def hashed(**values: Any) -> str:
        return EvalConfig.read({"users": "chat:u", **values}).hash("suite")

    assert hashed(user_chat={"temperature": 1}) != hashed()
    assert hashed(user_chat={"base_url": "http://h/v1"}) == hashed()
    assert hashed(users="scripted") != hashed()


def test_memory_and_how_a_model_is_asked_decide_results_together() -> None:
    settings = [{"memory": memory, "chat": {"temperature": temperature}}
                for memory in ("none", "full") for temperature in (0, 1)]  # fmt: skip
    hashes = [EvalConfig.read({"agents": "chat:m", **values}).hash("suite") for values in settings]
    assert len(set(hashes)) == 4


def test_settings_of_models_are_not_kept_where_none_takes_part() -> None:
    scripted = EvalConfig.read({"agents": "scripted:retry"})
    other = EvalConfig.read({"agents": "scripted:retry", "chat": {"temperature": 1}})
    assert scripted.hash("suite") == other.hash("suite")
    assert "chat" not in scripted.stored() and "users" not in scripted.stored()


def test_what_is_stored_of_a_run_with_models_gives_the_same_run_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.json").write_bytes(dump(load("retail")))
    (tmp_path / "own.yaml").write_text("base: paper\nbudget: 2\n")
    (tmp_path / "prices.yaml").write_text("{}")
    monkeypatch.chdir(tmp_path)
    values = {
        "agents": "chat:m",
        "users": "scripted,chat:u",
        "memory": "none,own.json,full+online",
        "faults": "own.yaml",
        "prices": "prices.yaml",
        "chat": {"temperature": 1},
    }
    config = EvalConfig.read(values)
    stored, digest = config.stored(), config.hash("suite")
    (tmp_path / "own.yaml").unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = EvalConfig.read(stored)
    assert again.hash("suite") == digest and again.stored() == stored
    assert stored["memory"] == ["none", f"full:{tmp_path / 'own.json'}", "full+online"]
    assert stored["prices"] == str(tmp_path / "prices.yaml")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"agents": "chat:"}, "Unknown agent 'chat:'"),
        ({"agents": "caht:m"}, "chat:MODEL"),
        ({"users": "script"}, "Did you mean 'scripted'"),
        ({"chat": {"temprature": 1}}, "Did you mean 'temperature'"),
        ({"chat": {"extra": {"stream": True}}}, "stream cannot be set"),
        ({"chat": {"attempts": 0}}, "attempts"),
        ({"user_chat": {"tools": "none"}}, "tools"),
        ({"budget_usd": 0}, "budget_usd"),
        ({"budget_usd": float("inf")}, "budget_usd"),
        ({"budget_tokens": 2**63}, "budget_tokens"),
        ({"chat": {"seed": 2**63}}, "seed"),
        ({"agents": "chat:\ud800"}, "agents holds text that cannot be stored"),
    ],
)
def test_wrong_settings(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        EvalConfig.read(values)


def test_the_room_for_the_dialogue() -> None:
    assert ChatSettings(context=8000, max_tokens=1000).limit() == 7000
    assert ChatSettings(context=8000, max_tokens=100_000).limit() == 4000
    assert ChatSettings(context=8000, max_tokens=None).limit() == 8000
