"""Where an endpoint is, and the key that opens it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bench2robust.core.errors import UsageError

__all__ = ["OPENAI", "Address"]

OPENAI = "https://api.openai.com/v1"
_OPENAI_KEY = "OPENAI_API_KEY"
_SHORTEST_SECRET = 8
"""Dummy keys of local servers, such as ``none``, are shorter; to hide them would garble text."""


@dataclass(frozen=True, slots=True)
class Address:
    """An endpoint's address; the key is in no representation of it.

    Attributes:
        base_url: up to and without ``/chat/completions``.
        key_name: the environment variable that holds the key; empty if no key is sent.
        key: the key.
    """

    base_url: str
    key_name: str = ""
    key: str = field(default="", repr=False)

    @classmethod
    def read(
        cls, base_url: str, key_name: str | None = None, environ: Mapping[str, str] = os.environ
    ) -> Address:
        """Check an address and fetch its key.

        Args:
            key_name: the environment variable that holds the key. By default
                ``OPENAI_API_KEY`` for OpenAI's own address and no key for any other, so that a
                key never goes where it was not meant to go.

        Raises:
            UsageError: the address is none or holds a secret itself, or the variable is not set.
        """
        url = _checked(base_url)
        name = key_name or (_OPENAI_KEY if url == OPENAI else "")
        key = environ.get(name, "").strip() if name else ""
        if name and not key:
            raise UsageError(
                f"The key for {url} is missing: set the environment variable {name}, name another "
                "variable with api_key_env (--api-key-env), or another endpoint with base_url "
                "(--base-url)."
            )
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"The environment variable {name} does not hold a key: it has "
                             "characters that no header can carry.")  # fmt: skip
        return cls(url, name, key)

    @property
    def local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return urlsplit(self.base_url).hostname in ("localhost", "127.0.0.1", "::1")

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {self.key}"} if self.key else headers

    def hide(self, text: str) -> str:
        """Return ``text`` without the key, should a server repeat it."""
        if len(self.key) < _SHORTEST_SECRET:
            return text
        return text.replace(self.key, "[key]")


def _checked(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise UsageError(f"base_url {base_url!r} is no address: write http://HOST:PORT/v1.")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            "base_url must be free of secrets (no user, query or fragment), for it is recorded: "
            "put a key into an environment variable and name that with api_key_env."
        )
    return base_url.rstrip("/").removesuffix("/chat/completions")
