"""What distinguishes two machines, with where each value is from."""

import json
from collections.abc import Iterable
from typing import Any

from narthex import _native


def differences(
    one: str, other: str, one_set: Iterable[str] = (), other_set: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Return the parameters that differ, in the order of the machines' tables.

    Each has its `key`, and under `one` and `other` the parameter as
    `narthex machine show --sources` knows it, or none where the machine has no
    such parameter. Values are compared by what they mean: 1MiB is 1024KiB.

    >>> [each["key"] for each in differences("hpca98", "hpca98", other_set=["bus.clock=1GHz"])]
    ['bus.clock']
    """
    return json.loads(_native.machine_differences(one, list(one_set), other, list(other_set)))


def value(parameter: dict[str, Any] | None) -> str:
    """Write a parameter's value with its unit; a dash where there is none."""
    return "-" if parameter is None else f"{parameter['value']} {parameter['unit']}".strip()


def source(parameter: dict[str, Any] | None) -> str:
    """Say where a value is from: "stated: Table 3", "assumed: why", "chosen"; nothing for none."""
    if parameter is None:
        return ""
    kind, reason = split_source(parameter["source"])
    return f"{kind}: {reason}" if reason else kind


def split_source(told: str | dict[str, str]) -> tuple[str, str]:
    """Split a source: "user", or {"stated": place} or {"assumed": reason}."""
    if isinstance(told, str):
        return "chosen", ""
    ((kind, text),) = told.items()
    return kind, text
