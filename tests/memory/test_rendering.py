"""The block, byte for byte as in figure 1 of appendix N."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bench2robust.domains import get_domain
from bench2robust.memory import Counts, Memory, layout, render

MEMORY = Memory(
    "counter",
    "c0",
    9,
    {
        ("get_order", "timeout"): Counts(8, 8),
        ("get_order", "factual_error"): Counts(0, 1),
        ("cancel", "malformed_response"): Counts(9, 97),
    },
    {("get_order", "list_orders"): Counts(3, 4)},
)
GOLDEN = """\
<tool_reliability>
Tool recovery beliefs (Beta posterior, from historical data):
get_order:
  P(episode recovery | error): timeout=0.90, rate_limit=0.50,
    server_error=0.50, auth_error=0.50, schema_drift=0.50,
    malformed_response=0.50, partial=0.50, stale=0.50,
    factual_error=0.33
  Alternative: list_orders (P=0.67, some fields)
cancel:
  P(episode recovery | error): timeout=0.50, rate_limit=0.50,
    server_error=0.50, auth_error=0.50, schema_drift=0.50,
    malformed_response=0.10, partial=0.50, stale=0.50,
    factual_error=0.50
calculate:
  P(episode recovery | error): timeout=0.50, rate_limit=0.50,
    server_error=0.50, auth_error=0.50, schema_drift=0.50,
    malformed_response=0.50, partial=0.50, stale=0.50,
    factual_error=0.50
list_orders:
  P(episode recovery | error): timeout=0.50, rate_limit=0.50,
    server_error=0.50, auth_error=0.50, schema_drift=0.50,
    malformed_response=0.50, partial=0.50, stale=0.50,
    factual_error=0.50
  Alternative: get_order (P=0.50, all fields)
How to use: Compare P(recovery) vs P(switch) for your error.
  High P(recovery) -> retry this tool.
  Low P(recovery) + high P(switch) -> switch to alternative.
  After switching, verify returned data has needed fields.
  If both low -> ask the user or transfer.
Alternative tool paths (when primary tool fails):
- get_order -> list_orders (summaries; no address)
- get_order -> list_orders (order numbers alone)
- list_orders -> get_order (one call for each order)
Critical constraints:
1. If a tool fails, retry at least once before other options.
2. After switching, verify returned data provides ALL required
   fields at the right granularity.
3. Before any irreversible action, confirm every required field
   from actual tool responses. Do not guess missing fields.
4. For ANY price calculation, use the calculate tool.
5. After calling a write tool, check the response for errors.
6. Only transfer after exhausting retry and alternative paths.
</tool_reliability>"""


def test_the_block_is_the_template_byte_for_byte(counter: Any) -> None:
    assert render(MEMORY, layout(counter, True)).encode() == GOLDEN.encode()


def test_stock_tools_have_no_path_to_a_tool_that_is_not_offered(counter: Any) -> None:
    text = render(MEMORY, layout(counter, False))
    assert "list_orders" not in text and "Alternative" not in text
    assert text.startswith(GOLDEN[: GOLDEN.index("  Alternative: list_orders")])
    assert text.endswith(GOLDEN[GOLDEN.index("Critical constraints:") :])


def test_the_calculator_line_is_only_where_there_is_one(counter: Any) -> None:
    specs = [spec for spec in counter.tools(True) if spec.name != "calculate"]
    bare = SimpleNamespace(tools=lambda alternatives: specs, classes=counter.classes)
    text = render(MEMORY, layout(bare, True))  # type: ignore[arg-type]
    assert "calculate" not in text
    assert text.endswith(
        "3. Before any irreversible action, confirm every required field\n"
        "   from actual tool responses. Do not guess missing fields.\n"
        "4. After calling a write tool, check the response for errors.\n"
        "5. Only transfer after exhausting retry and alternative paths.\n"
        "</tool_reliability>"
    )


def test_beliefs_alone_name_no_alternative(counter: Any) -> None:
    text = render(MEMORY, layout(counter, True), static=False)
    before = GOLDEN[: GOLDEN.index("Alternative tool paths")]
    kept = [line for line in before.splitlines() if not line.startswith("  Alternative:")]
    assert text == "\n".join([*kept, "</tool_reliability>"])


def test_every_tool_of_retail_that_can_fail_is_listed() -> None:
    retail = get_domain("retail")
    for alternatives, count in ((False, 15), (True, 20)):
        lines = render(Memory(), layout(retail, alternatives)).splitlines()
        heads = [line[:-1] for line in lines if line.endswith(":") and " " not in line]
        assert heads == [s.name for s in retail.tools(alternatives) if s.faultable]
        assert len(heads) == count
