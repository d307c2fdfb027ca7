"""What every group of settings is: fields, checks, and errors that name the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from bench2robust.core.errors import Bench2RobustError, UnknownNameError, UsageError, shown

__all__ = ["MOST", "Settings", "check_keys", "choice", "known", "without"]

MOST = 10**9
"""The most that a count may be."""

M = TypeVar("M", bound="Settings")


class Settings(BaseModel):
    """A group of settings; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls: type[M], values: Mapping[str, Any]) -> M:
        """Check ``values`` and return the settings.

        Raises:
            UsageError: a key is unknown or a value is wrong; the text names it and the way out.
        """
        check_keys(cls, values, "setting")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _readable(error) from None


def check_keys(settings: type[Settings], values: Iterable[Any], what: str) -> None:
    """Refuse a key that is no field, with the nearest. Raises ``UnknownNameError``."""
    for key in values:
        if key not in settings.model_fields:
            raise UnknownNameError(what, key, settings.model_fields)


def known(what: str, names: Callable[[], Iterable[str]] | Sequence[str]) -> BeforeValidator:
    """Return a validator that answers a wrong name with the nearest.

    Args:
        names: the names, or what lists them when a value is checked.
    """

    def check(value: Any) -> Any:
        every = tuple(names() if callable(names) else names)
        if value not in every:
            raise UnknownNameError(what, value, every)
        return value

    return BeforeValidator(check)


def choice(what: str, kind: Any) -> BeforeValidator:
    """Return :func:`known` for the names of a ``Literal``."""
    return known(what, get_args(kind))


def without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a validator that refuses keys which are set elsewhere."""

    def check(given: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            if name in given:
                raise ValueError(f"{name} cannot be set here")
        return given

    return check


def _readable(error: ValidationError) -> Bench2RobustError:
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Bench2RobustError):
        return cause
    reason = str(cause or first["msg"])
    where = ".".join(map(str, first["loc"]))
    if not where:
        return UsageError(f"{reason}.")
    return UsageError(f"{where}: {reason} (given: {shown(first['input'])}).")
