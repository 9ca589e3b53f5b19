"""Traces of a program's messages: GOAL and OTF2, of what the simulator hears of MPI.

request ──► simulator ──► document["mpi"] ──► Rank: events, in order ──► goal: schedules, text
                                                                    `──► otf2: an archive

GOAL (T. Hoefler, C. Siebert, A. Lumsdaine: Group Operation Assembly Language, 2009) says for each
rank which messages it sends and receives, how long it computes, and what waits for what. Here a
computation is the simulated time between two calls of MPI, in nanoseconds; what a call itself takes
is left to what executes the schedule. A blocking call waits for what came before it and is waited
for by all that follows; a receive that was posted waits for what came before its posting, and what
follows the call that found it done waits for it. Collectives are the messages that they were.

OTF2 is the Open Trace Format that Score-P writes and Vampir reads: each call of MPI is a region,
messages and collectives are events in it, times are picoseconds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narthex import files, mpi
from narthex.errors import USAGE, NarthexError
from narthex.extras import require

Document = dict[str, Any]

_PROTOTYPE = re.compile(r"NARTHEX_MPI\(int, (\w+),\s*([^;]*)\);")
_SENT = ("count", "datatype", "destination", "tag")

MOST_CONTEXTS = 255
"""A tag of GOAL has 32 bits, of which those of MPI have 24; the highest stands for any."""


def request() -> dict[str, Any]:
    """Describe for the simulator which functions count, and which arguments mean what."""
    return {"functions": [_function(*found) for found in _prototypes()]}


def _prototypes() -> list[tuple[str, list[str]]]:
    text = mpi.HEADER.read_text(encoding="utf-8")
    return [
        (f"MPI_{name}", [_parameter(each) for each in parameters.split(",")])
        for name, parameters in _PROTOTYPE.findall(text)
    ]


def _parameter(declared: str) -> str:
    return re.findall(r"\w+|\.\.\.|$", declared)[-2:][0]


def _function(name: str, parameters: list[str]) -> dict[str, Any]:
    def place(parameter: str) -> int | None:
        return parameters.index(parameter) if parameter in parameters else None

    sends = {*_SENT, "comm"} <= set(parameters) and not name.endswith("_init")
    return {
        "name": name,
        "communicator": place("comm"),
        "root": place("root"),
        "send": [place(each) for each in _SENT] if sends else None,
        "request": place("request") if sends else None,
    }


@dataclass
class Rank:
    """What a rank did."""

    number: int
    communicators: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """The contexts of those that it has named, and their ranks of the world."""
    events: list[list[Any]] = field(default_factory=list)
    """In order: a kind, the time in picoseconds, and what observation/src/mpi says of it."""


def ranks(document: Document) -> list[Rank]:
    """Take the events of MPI out of a run's document."""
    found: dict[int, Rank] = {}
    for each in document.pop("mpi")["ranks"]:
        rank = found.setdefault(each["rank"], Rank(each["rank"]))
        first = len(rank.communicators)
        rank.communicators += [
            (known["context"], tuple(known["members"])) for known in each["communicators"]
        ]
        for event in each["events"]:
            if event[0] == "enter" and event[3] is not None:
                event[3] += first
        rank.events = sorted([*rank.events, *each["events"]], key=lambda event: event[1])
    if not found:
        raise NarthexError(
            "the program has called no function of MPI: a trace of messages is of a program that"
            " is linked with Narthex's MPI (narthex mpicc)"
        )
    return [found[number] for number in sorted(found)]


class _Schedule:
    """The schedule of a rank."""

    def __init__(self, rank: Rank, contexts: dict[int, int]) -> None:
        self.rank = rank
        self.contexts = contexts
        self.operations: list[tuple[str | None, list[int]]] = []
        """What each does, and those that it waits for; nothing of a receive that never ended."""
        self.last: list[int] = []
        """What the next one waits for."""
        self.open: dict[int, int] = {}
        """What is under way, by its request."""
        self.left_ns: int | None = None
        """The end of the last call."""
        for event in rank.events:
            getattr(self, event[0])(*event[1:])

    def add(self, text: str | None) -> int:
        self.operations.append((text, list(self.last)))
        return len(self.operations) - 1

    def enter(self, at_ps: int, *_: int | None) -> None:
        at_ns = round(at_ps / 1000)
        if self.left_ns is not None and at_ns > self.left_ns:
            self.last = [self.add(f"calc {at_ns - self.left_ns}")]

    def leave(self, at_ps: int) -> None:
        self.left_ns = round(at_ps / 1000)

    def message(self, verb: str, peer: int, context: int, tag: int, size: int) -> str:
        joined = tag + (self.contexts[context] << 24)
        return f"{verb} {size}b {'to' if verb == 'send' else 'from'} {peer} tag {joined}"

    def send(self, _: int, peer: int, context: int, tag: int, size: int, request: int) -> None:
        if peer == self.rank.number:
            return
        number = self.add(self.message("send", peer, context, tag, size))
        if request:
            self.open[request] = number
        else:
            self.last = [number]

    def post(self, _: int, request: int) -> None:
        self.open[request] = self.add(None)

    def received(self, _: int, request: int, peer: int, context: int, tag: int, size: int) -> None:
        number = self.open.pop(request, None)
        if peer == self.rank.number:
            return
        if number is None:
            number = self.add(None)
        text = self.message("recv", peer, context, tag, size)
        self.operations[number] = (text, self.operations[number][1])
        self.last = [number, *(each for each in self.last if each not in self.waits_of(number))]

    def waits_of(self, number: int) -> list[int]:
        return self.operations[number][1]

    def sent(self, _: int, request: int) -> None:
        number = self.open.pop(request, None)
        if number is not None:
            self.last = [number, *(each for each in self.last if each not in self.waits_of(number))]

    def lines(self) -> Iterator[str]:
        yield f"rank {self.rank.number} {{"
        for number, (text, waits) in enumerate(self.operations):
            if text:
                yield f"l{number}: {text}"
                yield from (f"l{number} requires l{each}" for each in waits)
        yield "}"


def _check_collectives(traced: list[Rank]) -> None:
    """Refuse what an interface has carried out itself: MPI_Finalize has a barrier at least."""
    names = [each["name"] for each in request()["functions"]]
    for rank in traced if len(traced) > 1 else ():
        inside, has_sent = "", False
        for event in rank.events:
            if event[0] == "enter":
                inside, has_sent = names[event[2]], False
            has_sent |= event[0] == "send"
            if event[0] == "leave" and inside == "MPI_Finalize" and not has_sent:
                raise NarthexError(
                    f"a schedule of GOAL has messages alone, and the interface has carried out"
                    f" collectives of rank {rank.number} without: add"
                    " --env NARTHEX_MPI_OVERRIDES=no to the run"
                )


def goal(traced: list[Rank]) -> str:
    """Return the schedules of all ranks as text."""
    _check_collectives(traced)
    used = sorted(
        {
            event[4 if event[0] == "received" else 3]
            for rank in traced
            for event in rank.events
            if event[0] in ("send", "received")
        }
    )
    if len(used) > MOST_CONTEXTS:
        raise NarthexError(
            f"the program's messages are of {len(used)} communicators and their collectives, and"
            f" the tags of GOAL tell {MOST_CONTEXTS} apart"
        )
    contexts = {context: number for number, context in enumerate(used)}
    schedules = [_Schedule(rank, contexts) for rank in traced]
    parts = [f"num_ranks {len(traced)}"]
    parts += ["\n".join(schedule.lines()) for schedule in schedules]
    return "\n\n".join(parts) + "\n"


def check_places(goal: Path | None, archive: Path | None) -> dict[str, Any] | None:
    """Refuse places that cannot be written; return the request if there are any."""
    if goal:
        files.check_writable(goal, "choose another place for --goal")
    if archive:
        require("traces")
        if archive.exists():
            raise NarthexError(
                f"'{archive}' is there already, and --otf2 writes a new folder; choose another one",
                USAGE,
            )
    return request() if goal or archive else None


def write(document: Document, goal: Path | None, archive: Path | None) -> None:
    """Write the traces of a run's document, which loses its events of MPI."""
    if "mpi" not in document:
        return
    traced = ranks(document)
    if goal:
        write_goal(goal, traced)
    if archive:
        write_otf2(archive, traced)


def write_goal(path: Path, traced: list[Rank]) -> None:
    """Write the schedules into a file, whole or not at all."""
    files.write(path, goal(traced).encode())


def write_otf2(folder: Path, traced: list[Rank]) -> None:
    """Write an archive of OTF2 into a new folder."""
    from narthex.extras import otf2

    names = [each["name"] for each in request()["functions"]]
    with otf2.writer.open(str(folder), timer_resolution=10**12) as archive:
        _Archive(otf2, archive, names, traced).write()


class _Archive:
    """Writes an archive."""

    def __init__(self, otf2: Any, archive: Any, names: list[str], traced: list[Rank]) -> None:  # noqa: ANN401 - a module
        self.otf2, self.names, self.traced = otf2, names, traced
        self.archive, self.definitions = archive, archive.definitions
        self.regions: dict[str, Any] = {}
        self.known: dict[tuple[int, tuple[int, ...]], Any] = {}

    def write(self) -> None:
        root = self.definitions.system_tree_node("machine")
        locations = []
        for rank in self.traced:
            name = f"rank {rank.number}"
            group = self.definitions.location_group(name, system_tree_parent=root)
            locations.append(self.definitions.location(name, group=group))
        self.definitions.group(
            "the ranks",
            group_type=self.otf2.GroupType.COMM_LOCATIONS,
            paradigm=self.otf2.Paradigm.MPI,
            members=locations,
        )
        for rank, location in zip(self.traced, locations, strict=True):
            self.write_rank(rank, self.archive.event_writer_from_location(location))

    def region(self, number: int) -> Any:  # noqa: ANN401
        name = self.names[number]
        if name not in self.regions:
            role = _operation(name)
            self.regions[name] = self.definitions.region(
                name,
                region_role=getattr(self.otf2.RegionRole, role.region if role else "FUNCTION"),
                paradigm=self.otf2.Paradigm.MPI,
            )
        return self.regions[name]

    def communicator(self, context: int, members: tuple[int, ...]) -> Any:  # noqa: ANN401
        key = (context, members)
        if key not in self.known:
            name = f"communicator {context // 2} of {len(members)} ranks"
            group = self.definitions.group(
                name if context else "MPI_COMM_WORLD",
                group_type=self.otf2.GroupType.COMM_GROUP,
                paradigm=self.otf2.Paradigm.MPI,
                members=list(members),
            )
            self.known[key] = self.definitions.comm(group.name, group)
        return self.known[key]

    def write_rank(self, rank: Rank, writer: Any) -> None:  # noqa: ANN401
        members_of: dict[int, tuple[int, ...]] = {}
        call: _Call | None = None
        at_ps = 0
        for kind, at_ps, *what in rank.events:
            if kind == "enter":
                call = self.begin(rank, writer, at_ps, *what)
                members_of |= call.members_of
            elif kind == "leave" and call:
                self.end(writer, at_ps, call)
                call = None
            elif kind in ("send", "received"):
                *_, peer, context, tag, size = what[:4] if kind == "send" else what
                if context % 2 and call:
                    call.sizes[kind == "received"] += size
                elif context % 2 == 0:
                    write = writer.mpi_send if kind == "send" else writer.mpi_recv
                    members = members_of[context]
                    communicator = self.communicator(context, members)
                    write(at_ps, members.index(peer), communicator, tag, size)
        if call:  # the run ended in it
            writer.leave(at_ps, self.region(call.function))

    def begin(
        self,
        rank: Rank,
        writer: Any,  # noqa: ANN401
        at_ps: int,
        function: int,
        known: int | None,
        root: int | None,
    ) -> "_Call":
        writer.enter(at_ps, self.region(function))
        call = _Call(function, root)
        if known is not None:
            context, members = rank.communicators[known]
            call.members_of[context] = members
            call.operation = _operation(self.names[function])
        if call.operation:
            writer.mpi_collective_begin(at_ps)
        return call

    def end(self, writer: Any, at_ps: int, call: "_Call") -> None:  # noqa: ANN401
        if call.operation:
            ((context, members),) = call.members_of.items()
            writer.mpi_collective_end(
                at_ps,
                getattr(self.otf2.CollectiveOp, call.operation.name),
                self.communicator(context, members),
                _NO_ROOT if call.root is None else call.root,
                *call.sizes,
            )
        writer.leave(at_ps, self.region(call.function))


_NO_ROOT = 0xFFFFFFFF
"""What OTF2 has for an undefined number of 32 bits."""


@dataclass
class _Call:
    """A call that a rank is in."""

    function: int
    root: int | None
    operation: "_Operation | None" = None
    """Of a collective that waits."""
    members_of: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The members of its communicator, by its context."""
    sizes: list[int] = field(default_factory=lambda: [0, 0])
    """Bytes that a collective has sent and received."""


@dataclass(frozen=True)
class _Operation:
    """How OTF2 calls a collective, and the role of its region."""

    name: str
    region: str


_OPERATIONS = {
    "Barrier": ("BARRIER", "BARRIER"),
    "Bcast": ("BCAST", "COLL_ONE2ALL"),
    "Scatter": ("SCATTER", "COLL_ONE2ALL"),
    "Scatterv": ("SCATTERV", "COLL_ONE2ALL"),
    "Gather": ("GATHER", "COLL_ALL2ONE"),
    "Gatherv": ("GATHERV", "COLL_ALL2ONE"),
    "Reduce": ("REDUCE", "COLL_ALL2ONE"),
    "Allgather": ("ALLGATHER", "COLL_ALL2ALL"),
    "Allgatherv": ("ALLGATHERV", "COLL_ALL2ALL"),
    "Alltoall": ("ALLTOALL", "COLL_ALL2ALL"),
    "Alltoallv": ("ALLTOALLV", "COLL_ALL2ALL"),
    "Alltoallw": ("ALLTOALLW", "COLL_ALL2ALL"),
    "Allreduce": ("ALLREDUCE", "COLL_ALL2ALL"),
    "Reduce_scatter": ("REDUCE_SCATTER", "COLL_ALL2ALL"),
    "Reduce_scatter_block": ("REDUCE_SCATTER_BLOCK", "COLL_ALL2ALL"),
    "Scan": ("SCAN", "COLL_OTHER"),
    "Exscan": ("EXSCAN", "COLL_OTHER"),
}


def _operation(function: str) -> _Operation | None:
    found = _OPERATIONS.get(function.removeprefix("MPI_"))
    return _Operation(*found) if found else None
