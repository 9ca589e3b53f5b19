"""Faults that the proofs have to find: one for each property. A proof that cannot fail is none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Const, Mux

from narthex.hardware.cache.arrivals import Arrivals
from narthex.hardware.cache.jobs import Fifo, Jobs
from narthex.hardware.cache.queues import Queues


@dataclass(frozen=True)
class Mutant:
    """A part of the controller, as somebody could have got it wrong."""

    meaning: str
    owner: type
    name: str
    wrong: Any

    @contextmanager
    def built_in(self) -> Iterator[None]:
        """Build controllers with the fault."""
        right = self.owner.__dict__[self.name]
        setattr(self.owner, self.name, self.wrong)
        try:
            yield
        finally:
            setattr(self.owner, self.name, right)


def _forgetful(fifo: Fifo) -> Mux:
    return Mux(fifo.pop, fifo.count - 1, fifo.count + fifo.push)


def _always(own: object, about: object) -> Const:
    del own, about
    return Const(1)


_once_round: Callable[[Any], Any] = staticmethod(lambda items: items)

MUTANTS = {
    "regions": Mutant("the line of a queue's slot is not looked at", Queues, "is_its", _always),
    "lists": Mutant("no entry is kept for a packet that comes", Jobs, "KEPT_ENTRIES", 0),
    "acknowledgements": Mutant(
        "a refused write is acknowledged", Arrivals, "is_acknowledged", _always
    ),
    "packets": Mutant(
        "a list that gives what is oldest does not count what comes", Fifo, "next_count", _forgetful
    ),
    "queues": Mutant("pointers count once round", Queues, "range_of", _once_round),
}
"""For each property of `properties`."""
