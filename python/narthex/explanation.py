"""One message's life: its transactions, and the parts of its latency."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from narthex import _native, arguments
from narthex.arguments import Settings
from narthex.documents import EXPLANATION, Kind, Loaded, in_notebook
from narthex.firmware import Firmware
from narthex.firmware import request as firmware_request
from narthex.programs import Program, find
from narthex.running import DEFAULT_MACHINE, Observer

if TYPE_CHECKING:
    import altair
    import polars

PROGRAM = "roundtrip"
"""The program whose messages are explained."""

Row = dict[str, Any]


class Explanation(Loaded):
    """What happened to one message between the call that sends and its handler.

    `document` is exactly what `--json` writes. The frames are views of it,
    made when they are asked for.
    """

    kind: ClassVar[Kind] = EXPLANATION

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Make an explanation of its document."""
        return cls(document)

    @property
    def title(self) -> str:
        """What is explained: the message's size and the interface."""
        return f"{self.document['bytes']} bytes over {self.document['interface']}"

    @property
    def latency_ps(self) -> int:
        """The time from the call to the handler."""
        return self.document["latency_ps"]

    @property
    def transactions(self) -> "polars.DataFrame":
        """What happened, in the order of time; times count from the call.

        Rows with `critical` are on the path that makes the latency, as the
        `part` that they name; the others go on beside it.
        """
        from narthex.extras import polars as pl

        schema = {
            "time_ps": pl.Int64,
            "node": pl.Int64,
            "agent": pl.String,
            "kind": pl.String,
            "what": pl.String,
            "place": pl.String,
            "data": pl.String,
            "bus": pl.String,
            "cycles": pl.Int64,
            "time_on_bus_ps": pl.Int64,
            "part": pl.String,
            "critical": pl.Boolean,
        }
        rows = [[row.get(key) for key in schema] for row in self.document["transactions"]]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def breakdown(self) -> "polars.DataFrame":
        """The parts of the latency: part, time_ps, and mean_ps over all measured rounds.

        `time_ps` adds up to the latency, to the picosecond.
        """
        from narthex.extras import polars as pl

        rounds = self.document["rounds"]["count"]
        schema = {"part": pl.String, "time_ps": pl.Int64, "mean_ps": pl.Float64}
        rows = [
            [entry["part"], entry["time_ps"], entry["rounds_total_ps"] / rounds]
            for entry in self.document["breakdown"]
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the parts of the latency: a bar each, of this message."""
        from narthex.charts import standalone as plots
        from narthex.report import lives

        return plots.standalone(lives.breakdown(self.document), self.title)

    def _repr_html_(self) -> str:
        return in_notebook(self.title, self.breakdown)

    def __repr__(self) -> str:
        return f"<narthex.Explanation of {self.title}: {self.latency_ps / 1000:.1f} ns>"


def explain(
    interface: str,
    bytes: int = 64,  # noqa: A002 - the option's name on the command line
    *,
    machine: str | Path = DEFAULT_MACHINE,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    firmware: Firmware = (),
    seed: int | None = None,
    program: Program | None = None,
    observer: Observer | None = None,
) -> Explanation:
    """Explain the latency of one message of `bytes` bytes over an interface.

    Round trips are run on two nodes of `machine`; of the measured requests
    from node 0 to node 1 the one with the median latency is shown, and the
    mean of all beside it.

    >>> import narthex
    >>> message = narthex.explain("CNI32Qm", 64)
    >>> message.breakdown["time_ps"].sum() == message.latency_ps
    True

    Raises `NarthexError` when something is wrong with the arguments.
    """
    guest = program or find(PROGRAM)
    request: dict[str, Any] = {
        "interface": arguments.text("interface", interface),
        "bytes": arguments.whole_number("bytes", bytes),
        "machine": arguments.text("machine", machine),
        "set": arguments.settings(set),
        "seed": arguments.whole_number_or_none("seed", seed),
    }
    if given := firmware_request(request["machine"], request["set"], firmware):
        request["firmware"] = given
    elf = guest.elf(interface=request["interface"])
    return Explanation(json.loads(_native.explain(json.dumps(request), elf, observer)))


def condensed(rows: Sequence[Row], *, critical_too: bool = False) -> list[Row]:
    """Join rows that say the same again, and count them in `count`.

    What goes on beside the critical path is joined up to the next row of the
    same node that is on the path: polls that find nothing are one row. With
    `critical_too`, rows on the path are joined as well, up to a row of the
    same node that says something else.
    """
    joined: list[Row] = []
    open_rows: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row.get(name) for name in ("node", "agent", "deed", "part", "critical"))
        joins = not row["critical"] or critical_too
        known = open_rows.get(key) if joins else None
        if known is None:
            known = {**row, "count": 0, "cycles": None}
            joined.append(known)
            if row["critical"]:
                open_rows = {k: v for k, v in open_rows.items() if k[0] != row["node"]}
            open_rows[key] = known
        known["count"] += 1
        if row.get("cycles") is not None:
            known["cycles"] = (known["cycles"] or 0) + row["cycles"]
    return joined


def words(row: Row) -> str:
    """Say what a condensed row is about."""
    return row["what"] if row["count"] == 1 else f"{row['count']} x {row['deed']}"
