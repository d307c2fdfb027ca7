"""Hooks of mkdocs: blocks that are marked with ``run`` are run, and their output is put below them.

A block ```` ```sh run ```` holds commands, a block ```` ```python run ```` a program. A page has one
working folder, so later blocks see the files of earlier ones. A command that fails stops the build.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from mkdocs.exceptions import PluginError

sys.path.insert(0, str(Path(__file__).parent))
from running import Workplace, fenced

_BLOCK = re.compile(r"^( *)```(sh|python) run\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([\w./-]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Run the marked blocks of a page."""
    markdown = _LINK.sub(lambda link: _inside(link, Path(page.file.src_uri).parent), markdown)
    workplace = Workplace()
    try:
        return _BLOCK.sub(lambda block: _shown(workplace, *block.groups()), markdown)
    except RuntimeError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
    finally:
        workplace.close()


def _inside(link: re.Match[str], folder: Path) -> str:
    """Return a link, or its text alone if it leads to a file of which the site has no page."""
    outside = os.path.normpath(folder / link[2]).startswith("..")
    return link[1] if outside else link[0]


def _shown(workplace: Workplace, margin: str, language: str, code: str) -> str:
    code = dedent(code)
    if language == "python":
        printed = workplace.python(code)
        output = f"\n\n{fenced('text', printed)}" if printed else ""
        return indent(fenced("python", code) + output, margin)
    lines = []
    for command in filter(str.strip, code.splitlines()):
        lines += [f"$ {command}", workplace.shell(command)]
    return indent(fenced("console", "\n".join(lines)), margin)
