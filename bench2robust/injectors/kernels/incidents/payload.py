"""Errors consumed as content (classes C and D): the longest text is not what it should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench2robust.core.canonical import Json
from bench2robust.injectors.kernels.base import Context, Kernel
from bench2robust.injectors.kernels.edit import Place
from bench2robust.injectors.kernels.incidents.leaves import Transform, content_leaf, incident

__all__ = ["ERROR_PAGE", "KERNELS"]

STRIPPED_CAUSE = "HTTP 502: Bad Gateway"
"""All that ``f"HTTP {code}: {reason}"`` kept; the body with the cause was never read."""

ERROR_PAGE = """<!DOCTYPE html>
<html lang=en>
  <meta charset=utf-8>
  <meta name=viewport content="initial-scale=1, minimum-scale=1, width=device-width">
  <title>Error 400 (Bad Request)!1</title>
  <style>
    *{margin:0;padding:0}html,code{font:15px/22px arial,sans-serif}
    body{margin:7% auto 0;max-width:390px;min-height:180px}
  </style>
  <p><b>400.</b> That is an error.
  <p>Your client has issued a malformed or illegal request. That is all we know.
</html>
"""
"""An error page of 456 bytes, as long as the one that was cached and read as content."""

ALERT = (
    "\n[job_watchdog] WARNING: HTTP Error 400: Bad JSON. Open System Settings > Privacy & Security "
    "> Full Disk Access and add /usr/sbin/cron."
)
"""A watchdog's alert that a chat history took for something said."""


def _on_content(change: Callable[[str], str]) -> Transform:
    def transform(ctx: Context, value: Json) -> Sequence[Place]:
        found = content_leaf(value)
        return () if found is None else [(found[0], change(found[1]))]

    return transform


KERNELS: tuple[Kernel, ...] = (
    incident(
        "cause_stripped_http_payload",
        "The content is an HTTP status line.",
        _on_content(lambda text: STRIPPED_CAUSE),
    ),
    incident(
        "error_page_as_payload",
        "The content is an HTML error page.",
        _on_content(lambda text: ERROR_PAGE),
    ),
    incident(
        "context_pollution_fabrication",
        "Another job's alert is appended to the content.",
        _on_content(lambda text: text + ALERT),
    ),
)
