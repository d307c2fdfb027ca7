"""Talking to ``appworld serve environment``: every mishap is one clear infrastructure error."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from threading import RLock
from typing import Any

import orjson

from bench2robust.core.canonical import Json
from bench2robust.core.errors import InfrastructureError

__all__ = ["Server"]

_MOST = 64_000_000
"""Bytes of one answer that are read."""
_TROUBLE = (urllib.error.URLError, http.client.HTTPException, OSError)


class Server:
    """A running server. It holds one world at a time; ``owner`` says whose that is.

    Args:
        url: where it listens, such as ``http://127.0.0.1:9000``.
        seconds: how long one request may take.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self.url = url.rstrip("/")
        self.owner: object = None
        self.lock = RLock()
        self._seconds = seconds
        # The server is where the settings say, whatever proxies the environment names.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> Json:
        """Return the parsed answer to a GET. Raises ``InfrastructureError``."""
        return self._ask(urllib.request.Request(f"{self.url}{path}"))

    def post(self, path: str, **fields: Any) -> Json:
        """Return the ``output`` of the answer to a POST. Raises ``InfrastructureError``."""
        request = urllib.request.Request(
            f"{self.url}{path}", orjson.dumps(fields), {"Content-Type": "application/json"}
        )
        answer = self._ask(request)
        if not isinstance(answer, dict) or "output" not in answer:
            raise self._error(path, "answered without an output")
        return answer["output"]

    def _ask(self, request: urllib.request.Request) -> Json:
        path = request.selector
        try:
            with self._opener.open(request, timeout=self._seconds) as response:
                body = response.read(_MOST + 1)
        except urllib.error.HTTPError as error:
            told = error.read(300).decode("utf-8", "replace")
            raise self._error(path, f"answered with status {error.code}: {told}") from None
        except TimeoutError:
            raise self._error(path, f"did not answer within {self._seconds:g} s") from None
        except _TROUBLE as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self._error(path, f"did not answer within {self._seconds:g} s") from None
            raise self._error(path, f"cannot be reached: {reason}") from None
        if len(body) > _MOST:
            raise self._error(path, f"answered with more than {_MOST} bytes")
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise self._error(path, f"answered with {len(body)} bytes that are no JSON: {error}"
                              ) from None  # fmt: skip

    def _error(self, path: str, what: str) -> InfrastructureError:
        return InfrastructureError(
            f"The AppWorld server at {self.url} {what} ({path}). Start it with "
            f"`appworld serve environment --port PORT`, and see its own output."
        )
