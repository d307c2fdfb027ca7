"""Where the server of an HTTP relay is, and which headers pass between it and a client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from bench2robust.core.errors import UsageError, shown

__all__ = ["Header", "Upstream", "passing"]

Header = tuple[str, str]

_ONE_CONNECTION = frozenset((
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
))  # fmt: skip
"""Headers that concern one connection, or that each side writes itself."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server of an HTTP relay.

    Attributes:
        origin: scheme, host and port; every path of it is relayed.
        path: of the MCP endpoint.
    """

    origin: str
    path: str

    @classmethod
    def read(cls, url: str) -> Upstream:
        """Check a URL.

        Raises:
            UsageError: it is none of HTTP, or holds a secret.
        """
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
            raise UsageError(
                f"--upstream {shown(url)}: give the address of an MCP endpoint, such as "
                "http://127.0.0.1:3000/mcp."
            )
        if parts.username is not None or parts.password is not None:
            raise UsageError("--upstream: leave the password out, the client's headers pass on.")
        return cls(f"{parts.scheme}://{parts.netloc}", parts.path or "/")


def passing(headers: Iterable[Header]) -> Iterator[Header]:
    """Yield the headers that a relay passes on, in order, repeated ones too."""
    pairs = list(headers)
    named = ",".join(value for name, value in pairs if name.lower() == "connection")
    dropped = _ONE_CONNECTION | {name.strip().lower() for name in named.split(",")}
    return ((name, value) for name, value in pairs if name.lower() not in dropped)
