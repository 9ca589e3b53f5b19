"""What a user has set, and what changes nothing with any of the runs that set it.

The simulator says of one machine and one interface which settings are idle
(machine/src/config/without_effect.rs). A comparison or a sweep makes many runs;
a setting that one of them needs is no mistake, however many others ignore it.
"""

import json
from collections.abc import Iterable
from typing import Any

from narthex import _native
from narthex.errors import NarthexError
from narthex.placement import naming_machines


def of_requests(requests: Iterable[dict[str, Any]]) -> list[str]:
    """Return a warning for each setting that changes nothing in all runs that have it.

    A request's interface that its machine cannot have is left to the run to refuse.
    """
    needed: set[str] = set()
    idle: dict[str, dict[str, str]] = {}
    asked = {(each["machine"], tuple(each["set"]), each["interface"]) for each in requests}
    for machine, settings, interface in sorted(asked):
        found = _settings(machine, settings, interface)
        warned = {warning["key"]: warning["text"] for warning in found["warnings"]}
        needed.update(key for key in found["set"] if key not in warned)
        for key, text in warned.items():
            idle.setdefault(key, {}).setdefault(interface, text)
    return [_told(texts) for key, texts in idle.items() if key not in needed]


def of_machine(machine: str, settings: Iterable[str], interface: str) -> list[str]:
    """Return the warnings for one machine with one interface.

    Raises `NarthexError` where the machine is wrong or cannot have the interface.
    """
    given = list(settings)
    with naming_machines(machine, given, interface):
        found = json.loads(_native.machine_settings(machine, given, interface))
    return [warning["text"] for warning in found["warnings"]]


def _settings(machine: str, settings: tuple[str, ...], interface: str) -> dict[str, Any]:
    try:
        return json.loads(_native.machine_settings(machine, list(settings), interface))
    except NarthexError:
        return {"set": [], "warnings": []}


def _told(texts: dict[str, str]) -> str:
    """Return the warning of the first interface, and which others ignore the setting too.

    One that does not depend on the interface is the same for all.
    """
    first, *others = texts
    if len(set(texts.values())) == 1:
        return texts[first]
    also = f" (nor with {', '.join(others)})" if others else ""
    return texts[first] + also
