"""One message over several interfaces, side by side on one time axis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narthex import arguments
from narthex.arguments import Settings
from narthex.comparison import Unranked, chosen
from narthex.errors import INTERRUPTED, NarthexError
from narthex.explanation import Explanation, explain
from narthex.firmware import Firmware
from narthex.options import DEFAULT_MACHINE
from narthex.running import Observer

if TYPE_CHECKING:
    import polars

OWNERS = (
    "sender",
    "interface sends",
    "flow control",
    "network",
    "interface receives",
    "receiver",
)
"""By whose work the parts of a latency are, in the order of the path: what their names begin
with."""


def by_owner(life: Explanation) -> dict[str, int]:
    """Return the picoseconds of a life by whose work they are; they add up to its latency."""
    times = dict.fromkeys(OWNERS, 0)
    for each in life.document["breakdown"]:
        times[each["part"].partition(":")[0]] += each["time_ps"]
    return times


@dataclass(frozen=True)
class SideBySide:
    """The lives of one message over several interfaces, the shortest first."""

    lives: list[Explanation]
    unranked: Sequence[Unranked] = ()
    """The interfaces that the machine cannot have, or that have no such message."""

    @property
    def frame(self) -> "polars.DataFrame":
        """A row an interface: its latency, and the parts of it by whose work they are, in ns."""
        from narthex.extras import polars as pl

        rows = [
            {
                "interface": life.document["interface"],
                "latency_ns": life.latency_ps / 1000,
                **{f"{owner}_ns": time / 1000 for owner, time in by_owner(life).items()},
            }
            for life in self.lives
        ]
        return pl.DataFrame(rows).rename(lambda name: name.replace(" ", "_"))

    def svg(self) -> str:
        """Return the lives as a picture, as `narthex explain all --diagram` draws them."""
        from narthex.charts import side_by_side

        return side_by_side.svg(self.lives)


def explain_all(
    interfaces: Sequence[str] | str | None = None,
    bytes: int | None = None,  # noqa: A002 - the option's name on the command line
    *,
    machine: arguments.Path = DEFAULT_MACHINE,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    firmware: Firmware = (),
    seed: int | None = None,
    observer: Callable[[str], Observer | None] = lambda _interface: None,
) -> SideBySide:
    """Explain a message of `bytes` bytes (64) over each of several interfaces.

    `interfaces` are the names, or "all" that the machine can have, which is meant if nothing
    is given; all else is as in `explain`. An interface without such a message is among the
    `unranked`, with the reason.

    >>> import narthex
    >>> found = narthex.explain_all(["NI2w", "CNI32Qm"], 8)
    >>> found.frame["interface"].to_list()
    ['CNI32Qm', 'NI2w']

    Raises `NarthexError` where none has one, or a named interface does not exist.
    """
    given = None if interfaces is None else arguments.interfaces(interfaces)
    names, left_out = chosen(given, machine, set)
    lives, failed = [], []
    for name in names:
        try:
            lives.append(
                explain(
                    name,
                    bytes,
                    machine=machine,
                    set=set,
                    firmware=firmware,
                    seed=seed,
                    observer=observer(name),
                )
            )
        except NarthexError as error:
            if error.exit_code == INTERRUPTED or len(names) == 1:
                raise
            failed.append(Unranked.of(name, error))
    if not lives:
        raise NarthexError(failed[0].reason, failed[0].exit_code)
    return SideBySide(sorted(lives, key=lambda life: life.latency_ps), [*failed, *left_out])
