"""Reading YAML written by people: plain values only, and every mistake as one clear error."""

from __future__ import annotations

from typing import Any

import yaml

from bench2robust.core.errors import UsageError, shown

__all__ = ["parse_yaml"]

_MISFITS = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError)
"""What PyYAML lets through when a value does not fit its type, such as ``2024-99-99``."""


def parse_yaml(text: str, what: str) -> Any:
    """Return the value of a YAML text.

    Aliases are refused: a few lines of them can stand for more values than memory holds. So is a
    name that stands twice in one mapping, of which PyYAML would keep the last without a word.

    Args:
        what: what the error text calls the source, such as a path.

    Raises:
        UsageError: it is not YAML, or a value cannot be read; the text names the line.
    """
    try:
        return yaml.load(text, _PlainLoader)  # a SafeLoader: it builds plain values only
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}," if mark else ""
        problem = str(getattr(error, "problem", None) or error)
    except RecursionError:
        where, problem = "", "it is nested too deeply"
    raise UsageError(f"{what}{where} is not valid YAML: {problem}.")


class _PlainLoader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, "aliases are not supported: write the value out", mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{shown(key.value)} is given twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except _MISFITS:
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"{shown(node.value)} is no valid {kind}", node.start_mark
            ) from None
