"""Failures are read off the text alone."""

from __future__ import annotations

import pytest

from bench2robust.agents.signals import read_signal
from bench2robust.core.types import ToolResult
from bench2robust.injectors.describe import describe
from bench2robust.injectors.profiles import load_profile


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("Error: request timed out after 30s", "timeout"),
        ("HTTP 429 Too Many Requests", "rate_limit"),
        ("Error: HTTP 503 Service Unavailable", "server_error"),
        ("Error: HTTP 403 Forbidden", "auth_error"),
        ("Error: Required field 'status' is missing", "schema_drift"),
        ("Error: could not parse the response as JSON", "malformed_response"),
        ("%&$#", "malformed_response"),
        ("Error: Order not found", "refused"),
        ("Error: Non-pending order cannot be cancelled", "refused"),
    ],
)
def test_error_texts(text: str, signal: str) -> None:
    assert read_signal(ToolResult(text, True)) == signal


def test_a_result_that_is_no_error_has_no_signal() -> None:
    assert read_signal(ToolResult("HTTP 429 is what they asked about", False)) == ""


def test_every_observable_kernel_is_recognised_by_its_example() -> None:
    for row in describe(load_profile("paper")):
        if row.observable:
            assert read_signal(ToolResult(row.example, True)) == row.type
