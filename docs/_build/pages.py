"""Pages that are made of the program itself: every command, and the reference."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mkdocs_gen_files

sys.path.insert(0, str(Path(__file__).parent))
from examples import EXAMPLES
from running import ROOT, Workplace, fenced

_DEFINES = re.compile(r"^(async )?(def|class) ", re.MULTILINE)
_NO_MEMBERS = "    options: {members: false}\n"
"""Of a module that only names what others define, which is shown there."""
_LIST = """
import json, typer
from bench2robust.cli.app import app
def names(command, path):
    inner = getattr(command, "commands", None)
    for name, one in sorted(inner.items()) if inner else ():
        yield from names(one, (*path, name))
    if not inner:
        yield " ".join(path)
print(json.dumps(list(names(typer.main.get_command(app), ()))))
"""


def commands() -> str:
    """Return the page of all commands, each with its help and examples that were run."""
    place = Workplace()
    names = json.loads(place.python(_LIST))
    unknown = set(EXAMPLES).difference(names)
    assert not unknown, f"examples of no command: {unknown}"
    with ThreadPoolExecutor(2) as pool:
        helps = dict(zip(names, pool.map(_help, names), strict=True))
    parts = ["# Commands\n\nEverything on this page was printed while the site was built.\n"]
    ran = {name: [(c, place.shell(c)) for c in EXAMPLES[name]] for name in EXAMPLES}
    for name in names:
        parts.append(f"## `{name}`\n\n{fenced('text', helps[name])}\n")
        parts += [fenced("console", f"$ {c}\n{out}") + "\n" for c, out in ran.get(name, ())]
    place.close()
    return "\n".join(parts)


def _help(name: str) -> str:
    place = Workplace()
    try:
        return place.shell(f"bench2robust {name} --help")
    finally:
        place.close()


def reference(package: Path) -> Iterator[str]:
    """Yield the page of one subpackage: its modules, in the order of their names."""
    yield f"# `bench2robust.{package.name}`\n\n"
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        if "__all__" in text:
            title = f"## `{name.removeprefix('bench2robust.')}`"
            yield f"{title}\n\n::: {name}\n{'' if _DEFINES.search(text) else _NO_MEMBERS}\n"


with mkdocs_gen_files.open("commands.md", "w") as file:
    file.write(commands())
for home in sorted((ROOT / "bench2robust").iterdir()):
    if home.is_dir() and (home / "__init__.py").is_file() and home.name != "cli":
        with mkdocs_gen_files.open(f"reference/{home.name}.md", "w") as file:
            file.writelines(reference(home))
