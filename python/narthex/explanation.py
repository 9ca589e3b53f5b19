"""One message's life: its transactions, and the parts of its latency.

Beside messages of the messaging library, a chip's transfers and locks can be explained
(`SUBJECTS`), and messages that a program sends by a library of the interface's own: each by a
program that does nothing else, or by any program.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from narthex import _native, arguments
from narthex.arguments import Settings
from narthex.cosimulation import designs
from narthex.documents import EXPLANATION, Kind, Loaded, in_notebook
from narthex.errors import NarthexError, unknown
from narthex.firmware import Firmware
from narthex.firmware import request as firmware_request
from narthex.options import DEFAULT_MACHINE
from narthex.placement import naming_machines
from narthex.programs import Program, find
from narthex.running import Observer

if TYPE_CHECKING:
    import altair
    import polars

MESSAGE = "message"

LARGEST_BYTES = 1024
"""Payload of the longest message that is explained; longer ones only repeat themselves."""

_BYTES = re.compile(r"(\d+)B")


@dataclass(frozen=True)
class Subject:
    """What can be explained."""

    program: str
    """The program that does it, over and over."""
    name: str
    one: str
    """One of them, as sections are titled."""
    span: str
    """From where to where its latency goes."""
    has_size: bool = False
    where: str = "any interface"
    """Over which interfaces there is one."""


_ON_TILES = "SARC, on sarc-prototype or sarc-chip"
_TILES = "from the end of tile 0's wait to the end of tile 1's"


def _transfer(name: str, *, has_size: bool = False) -> Subject:
    return Subject("sarc-remote-store", name, f"One {name}", _TILES, has_size, _ON_TILES)


def _lock(name: str, where: str = _ON_TILES) -> Subject:
    held = "from tile 0's having the lock to tile 1's"
    return Subject("sarc-locks", name, f"One hand-over of a {name}", held, where=where)


_SHARED = "SARC, on sarc-chip with machine.processors_per_process = 16"
_CALLS = "from the call that sends it to the return of the one that gives it"


SUBJECTS = {
    MESSAGE: Subject(
        "roundtrip",
        "message",
        "One message's life",
        "from the call that sends to the handler",
        has_size=True,
    ),
    "remote-store": _transfer("remote store"),
    "rdma": _transfer("RDMA copy", has_size=True),
    "queue-lock": _lock("queue lock"),
    "lock-box": _lock("lock of the lock box", "SARC, on sarc-prototype"),
    "test-and-set-lock": _lock("test-and-set lock", _SHARED),
    "ticket-lock": _lock("ticket lock", _SHARED),
    "mcs-lock": _lock("MCS lock", _SHARED),
    "via": Subject(
        "via-latency",
        "VIA message",
        "One VIA message's life",
        _CALLS,
        has_size=True,
        where="EDT and the other interfaces of VIA, on edt",
    ),
    "voyager-queue": Subject(
        "voyager-latency",
        "queue message",
        "One queue message's life",
        _CALLS,
        has_size=True,
        where="Voyager-resident, -nonresident and -hybrid, on voyager",
    ),
}
"""By what `explain` takes for `of`."""

HAND_OVER = Subject(
    "",
    "hand-over",
    "One hand-over",
    "from the end of the one tile's wait to the end of the other's",
    where=_ON_TILES,
)
"""What is explained of a program whose tiles wait for each other's stores and copies."""


def subject(document: dict[str, Any]) -> Subject:
    """Return what a document explains."""
    of = document.get("of", MESSAGE)
    return HAND_OVER if of == HAND_OVER.name else named(of)


def named(of: str) -> Subject:
    """Return what `explain` takes for `of`."""
    if of not in SUBJECTS:
        raise unknown("subject of an explanation", str(of), SUBJECTS)
    return SUBJECTS[of]


def what(document: dict[str, Any]) -> str:
    """Say what a document explains: "64 bytes" for a message, "RDMA copy of 64 bytes"."""
    about = subject(document)
    if is_of_program(document):
        return f"{about.name} of {document['program']}"
    named = [] if about is SUBJECTS[MESSAGE] else [about.name]
    sized = [f"{document['bytes']} bytes"] if about.has_size else []
    return " of ".join([*named, *sized])


def is_of_program(document: dict[str, Any]) -> bool:
    """Tell whether a program of the user's choice has sent what a document explains."""
    return document.get("of_program", False)


def title(document: dict[str, Any]) -> str:
    """Say what a document explains, over which interface, and between which ranks if others."""
    ranks = between(document)
    return f"{what(document)} over {document['interface']}{f', {ranks}' if ranks else ''}"


def between(document: dict[str, Any]) -> str:
    """Say which ranks send and receive, unless they are those that one expects."""
    sender, receiver = document.get("ranks", [0, 1])
    expected = [sender, receiver] in ([0, 1], places(document))
    return "" if expected else f"from rank {sender} to rank {receiver}"


def places(document: dict[str, Any]) -> list[int]:
    """Return the numbers of the nodes, or the tiles, that send and receive."""
    return document.get("places", [0, 1])


def ends(document: dict[str, Any]) -> str:
    """Say what sends and receives: nodes, or tiles of one."""
    return document.get("ends", "node")


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
        return title(self.document)

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
    bytes: int | None = None,  # noqa: A002 - the option's name on the command line
    *,
    of: str | None = None,
    program: str | Path | Program | None = None,
    args: Sequence[object] = (),
    nodes: int | None = None,
    sender: int | None = None,
    receiver: int | None = None,
    machine: str | Path = DEFAULT_MACHINE,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    firmware: Firmware = (),
    seed: int | None = None,
    observer: Observer | None = None,
) -> Explanation:
    """Explain the latency of one message of `bytes` bytes (64) over an interface.

    Round trips are run on two nodes of `machine`; of the measured requests
    from node 0 to node 1 the one with the median latency is shown, and the
    mean of all beside it. `of` is one of `SUBJECTS`: a message of the messaging library
    if it is left out; on a chip whose tiles have the interface also a transfer or the
    hand-over of a lock, from tile 0 to 1; and a message of a library of the interface's own.

    With `program` (as `run` takes it, with its `args`, on `nodes` nodes) it is a message that
    this program sends: by the library of the interface's own, if it does that, and else by the
    messaging library. Its messages must not overlap: each is received before the next is sent.

    `sender` and `receiver` are ranks: the first of all and the first of the next node if they
    are left out. Of hand-overs between tiles they are tiles.

    >>> import narthex
    >>> message = narthex.explain("CNI32Qm", 64)
    >>> message.breakdown["time_ps"].sum() == message.latency_ps
    True

    Raises `NarthexError` when something is wrong with the arguments.
    """
    guest = find(named(of or MESSAGE).program if program is None else program)
    request: dict[str, Any] = {
        "of": of,
        **({} if program is None else {"program": guest.name}),
        "args": [str(each) for each in args],
        "nodes": arguments.whole_number_or_none("nodes", nodes),
        "from": arguments.whole_number_or_none("sender", sender),
        "to": arguments.whole_number_or_none("receiver", receiver),
        "interface": arguments.text("interface", interface),
        "bytes": arguments.whole_number_or_none("bytes", bytes),
        "machine": arguments.text("machine", machine),
        "set": arguments.settings(set),
        "seed": arguments.whole_number_or_none("seed", seed),
    }
    if given := firmware_request(request["machine"], request["set"], firmware):
        request["firmware"] = given
    if hardware := designs.request(request["interface"]):
        request["hardware"] = hardware
    elf = guest.elf(interface=request["interface"])
    with naming_machines(request["machine"], request["set"], request["interface"]):
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


def payload_bytes(document: dict[str, Any]) -> int:
    """Return the payload of the most frequent messages with any; 0 if there are none."""
    header = _header_bytes(document["machine"])
    sizes = [entry for entry in document["message_sizes"] if entry["bytes"] > header]
    if not sizes:
        return 0
    most = max(sizes, key=lambda entry: entry["messages"])
    return min(most["bytes"] - header, LARGEST_BYTES)


def _header_bytes(machine: dict[str, Any]) -> int:
    header = machine["messages"]["header"]
    text = str(header["value"] if isinstance(header, dict) else header)
    found = _BYTES.fullmatch(text)
    if not found:
        raise NarthexError(f"the machine's messages.header is '{text}', not a number of bytes")
    return int(found[1])
