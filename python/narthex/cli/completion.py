"""What the shell offers for a value while a command line is typed.

Each function here belongs to an option or argument (`autocompletion=`) and is
called by Typer in a process of its own at each press of the tab key. So it
imports late and little: names only, never tables or frames. It offers what
begins with what has been typed, in any case; a mistake elsewhere on the line
offers nothing, for the command itself will tell. Where nothing is offered the
shell offers files.
"""

import json
from collections.abc import Iterable

import typer

from narthex.errors import NarthexError
from narthex.options import DEFAULT_MACHINE

Offered = list[tuple[str, str]]
"""Values, each with what it means (which bash does not show)."""


def interfaces(incomplete: str) -> Offered:
    """Offer network interfaces."""
    return _beginning(incomplete, _listed("interfaces"))


def several_interfaces(incomplete: str) -> Offered:
    """Offer the next of several interfaces with commas between, or `all` of them."""
    before, comma, last = incomplete.rpartition(",")
    names = _listed("interfaces") if comma else [("all", "every one"), *_listed("interfaces")]
    return [(before + comma + name, meaning) for name, meaning in _beginning(last, names)]


def machines(incomplete: str) -> Offered:
    """Offer the machines that are built in."""
    return _beginning(incomplete, _listed("machines"))


def programs(incomplete: str) -> Offered:
    """Offer the programs that come with Narthex."""
    from narthex import programs

    names = ((name, programs.summary(name)) for name in programs.shipped())
    return _beginning(incomplete, names)


def subjects(incomplete: str) -> Offered:
    """Offer what can be explained."""
    from narthex.explanation import SUBJECTS

    return _beginning(incomplete, ((of, about.name) for of, about in SUBJECTS.items()))


def experiments(incomplete: str) -> Offered:
    """Offer the experiments that come with Narthex, or `all` of them."""
    from narthex.assets import experiment_names

    return _beginning(incomplete, ((name, "") for name in ["all", *experiment_names()]))


def calibrations(incomplete: str) -> Offered:
    """Offer the calibrations that come with Narthex, and the machines whose fit is stated."""
    from narthex.calibration import names, statement

    return _beginning(incomplete, ((name, "") for name in [*names(), *statement.names()]))


def designs(incomplete: str) -> Offered:
    """Offer the designs of hardware that come with Narthex, and groups of them."""
    from narthex.synthesis import designs

    try:
        names = [*designs.GROUPS, *designs.names()]
    except NarthexError:  # without the extra
        return []
    return _beginning(incomplete, ((name, "") for name in names))


def keys(context: typer.Context, incomplete: str) -> Offered:
    """Offer the keys of the machine that an option of the command line names.

    Arguments are not known here: Typer takes them in when the line is whole.
    """
    from narthex import _native

    machine = context.params.get("machine") or context.params.get("base") or DEFAULT_MACHINE
    try:
        shown = json.loads(_native.machine_show(machine, [], True))
    except NarthexError:
        return []
    entries = ((f"{entry['key']}=", f"now {entry['value']}") for entry in shown["sources"])
    return _beginning(incomplete, entries)


def _listed(kind: str) -> list[tuple[str, str]]:
    from narthex import _native

    return [(entry["name"], entry["summary"]) for entry in json.loads(_native.list(kind))]


def _beginning(incomplete: str, offered: Iterable[tuple[str, str]]) -> Offered:
    """Return what begins so, as it was typed so far: Typer would drop another case."""
    length = len(incomplete)
    return [
        (incomplete + name[length:], meaning)
        for name, meaning in offered
        if name[:length].casefold() == incomplete.casefold()
    ]
