"""The designs that come with Narthex, by the names that `narthex hardware area` takes.

| group | designs |
| --- | --- |
| `sarc` | the cache with its network interface: the bars of Figure 7, and what they are made of |
| `queues` | the interfaces of 1996 and 1998 |
"""

from collections.abc import Callable, Sequence
from functools import partial

from narthex.errors import NarthexError, unknown
from narthex.synthesis import tools
from narthex.synthesis.sources import Design, of_component

GROUPS = ("sarc", "queues")


def names(group: str | None = None) -> list[str]:
    """Return the designs of a group, or all."""
    return [name for each in GROUPS if group in (None, each) for name in _makers(each)]


def chosen(asked: Sequence[str]) -> list[Design]:
    """Return designs by their names, or those of their groups; all if none is asked for."""
    by_folded = {name.casefold(): name for name in names()}
    found: list[str] = []
    for name in asked or GROUPS:
        if name in GROUPS:
            found += names(name)
        elif name.casefold() in by_folded:
            found.append(by_folded[name.casefold()])
        else:
            raise unknown("design", name, [*GROUPS, *by_folded.values()])
    return [design(name) for name in dict.fromkeys(found)]


def design(name: str) -> Design:
    """Elaborate one design."""
    for group in GROUPS:
        if name in (makers := _makers(group)):
            return of_component(name, makers[name]())
    raise NarthexError(f"there is no design '{name}'")


def _makers(group: str) -> dict[str, Callable[[], object]]:
    """Return what makes each design of a group; Amaranth is imported here and not before."""
    tools.require()
    if group == "queues":
        from narthex.hardware.queues import DESIGNS

        return DESIGNS
    from narthex.hardware.cache.controller import Controller
    from narthex.hardware.cache.parameters import VARIANTS
    from narthex.hardware.cache.partitioned import Partitioned

    controllers = {name: partial(Controller, of) for name, of in VARIANTS.items()}
    return {**controllers, "partitioned": Partitioned}
