"""A command's standard streams, passed on and kept: ``tee.py FOLDER/NAME COMMAND…``."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Thread


def carry(source: int, target: int, file: str) -> None:
    with open(file, "wb", buffering=0) as kept:
        while chunk := os.read(source, 65536):
            kept.write(chunk)
            left = memoryview(chunk)
            while left:
                left = left[os.write(target, left) :]
    os.close(target)


def main() -> None:
    name, command = sys.argv[1], sys.argv[2:]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert child.stdin is not None and child.stdout is not None
    up = (0, os.dup(child.stdin.fileno()), f"{name}.up")
    child.stdin.close()
    Thread(target=carry, args=up, daemon=True).start()
    carry(child.stdout.fileno(), 1, f"{name}.down")
    os._exit(child.wait())


if __name__ == "__main__":
    main()
