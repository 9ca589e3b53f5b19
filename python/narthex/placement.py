"""Which machines can have an interface, for the message that one cannot.

with naming_machines("hpca98", [], "SARC"):   "... has no [interfaces.sarc], which 'SARC'
_native.run(...)                          needs; sarc-chip and sarc-prototype have it"
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from narthex import _native
from narthex.errors import USAGE, NarthexError

_NAMES_A_VALUE = re.compile(r": interfaces\.\w+\.\w+: ")
"""What a refusal has that is about the value of an interface's parameter."""


@contextmanager
def naming_machines(machine: str, settings: Sequence[str], interface: str) -> Iterator[None]:
    """Let an error that a machine cannot have an interface name the machines that can."""
    try:
        yield
    except NarthexError as error:
        if error.exit_code != USAGE or error.document is not None:
            raise
        if str(error) != _refusal(machine, settings, interface):
            raise
        # A machine that has it with another value is no help, but another value is.
        if _NAMES_A_VALUE.search(str(error)):
            raise
        others = machines_with(interface)
        # A machine that can have it is refused for its settings: no other machine helps.
        if not others or machine in others or not _has_another(machine, settings):
            raise
        *some, last = others
        names = f"{', '.join(some)} and {last} have it" if some else f"{last} has it"
        raise NarthexError(f"{error}; {names}") from error


def _refusal(machine: str, settings: Sequence[str], interface: str) -> str | None:
    """Return why a machine cannot have an interface; nothing if it can."""
    try:
        _native.machine_settings(machine, list(settings), interface)
    except NarthexError as error:
        return str(error)
    return None


def machines_with(interface: str) -> list[str]:
    """Return the built-in machines that can have an interface."""
    names = (entry["name"] for entry in json.loads(_native.list("machines")))
    return [name for name in names if _refusal(name, [], interface) is None]


def _has_another(machine: str, settings: Sequence[str]) -> bool:
    """Tell whether the machine can have any interface at all: if not, the machine is wrong."""
    names = (entry["name"] for entry in json.loads(_native.list("interfaces")))
    return any(_refusal(machine, settings, name) is None for name in names)
