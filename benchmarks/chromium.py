"""A headless Chromium, driven over its own debugging pipe: no driver and no package needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Chromium", "find_chromium"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
    "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip


def find_chromium() -> str | None:
    """Return the path of a Chromium or Chrome, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One page in a browser of its own, which ends with the ``with`` block.

    Messages are JSON ended by a zero byte: the browser reads them from descriptor 3 and answers on
    descriptor 4.
    """

    def __init__(self, program: str, width: int = 1440, height: int = 900) -> None:
        self._profile = tempfile.mkdtemp()
        theirs_in, ours_out = map(_high, os.pipe())
        ours_in, theirs_out = map(_high, os.pipe())
        quiet = os.open(os.devnull, os.O_RDWR)
        ends = [(theirs_in, 3), (theirs_out, 4), (quiet, 1), (quiet, 2)]
        command = [program, *FLAGS, f"--user-data-dir={self._profile}",
                   f"--window-size={width},{height}", "about:blank"]  # fmt: skip
        actions = [(os.POSIX_SPAWN_DUP2, one, two) for one, two in ends]
        self._process = os.posix_spawn(
            program, command, os.environ, file_actions=actions, setpgroup=0
        )
        for end in (theirs_in, theirs_out, quiet):
            os.close(end)
        self._out, self._in = ours_out, ours_in
        self._unread = b""
        self._count = 0
        self._session = ""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.resize(width, height)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._out)
        os.close(self._in)
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        shutil.rmtree(self._profile, ignore_errors=True)

    def command(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come in between are dropped.

        Raises:
            RuntimeError: the browser refuses it.
        """
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        unsent = json.dumps(message).encode() + b"\0"
        while unsent:
            unsent = unsent[os.write(self._out, unsent) :]
        while (answer := self._read()).get("id") != self._count:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("The browser ended.")
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited.

        Raises:
            RuntimeError: it throws.
        """
        answer = self.command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def open(self, file: Path, ready: str) -> None:
        """Load a file and wait until the expression ``ready`` is true."""
        self.command("Page.navigate", url=file.resolve().as_uri())
        self.wait(ready)

    def wait(self, condition: str) -> None:
        """Wait until an expression is true, for at most ten seconds.

        Raises:
            RuntimeError: it never is.
        """
        look = f"(() => {{ try {{ return !!({condition}) }} catch {{ return false }} }})()"
        for _ in range(200):
            try:
                if self.run(look):
                    return
            except RuntimeError:  # the page was replaced while we asked
                pass
            time.sleep(0.05)
        raise RuntimeError(f"Never true: {condition}")

    def press(self, key: str) -> None:
        """Press a key that has a name, such as ``ArrowDown``."""
        for kind in ("rawKeyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """Prefer ``light`` or ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, file: Path) -> None:
        """Write what the window shows as PNG."""
        data = self.command("Page.captureScreenshot", format="png")["data"]
        file.write_bytes(base64.b64decode(data))


def _high(end: int) -> int:
    """Move a descriptor out of the way of 3 and 4."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved
