"""What is worth seeing in the waves of hardware, and how to read them.

`--waves FILE.vcd` writes every signal, thousands of a tile. Beside it comes `FILE.gtkw`, a view for
GTKWave (`gtkwave FILE.vcd FILE.gtkw`): what a message passes, in its order, named, grouped by tile.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from narthex.cosimulation.build import Port
from narthex.errors import NarthexError

Group = tuple[str, tuple[tuple[str, str], ...]]
"""What signals tell of together, and for each what it says and its port."""

OF_TILE: tuple[Group, ...] = (
    (
        "processor",
        (
            ("an access is offered", "processor__valid"),
            ("it is taken", "processor__ready"),
            ("its address", "processor__address"),
            ("it is a store", "processor__store"),
            ("what is stored", "processor__data"),
            ("it is answered", "response__valid"),
            ("what is loaded", "response__data"),
        ),
    ),
    (
        "to the network",
        (
            ("a flit leaves", "network_out__valid"),
            ("a packet's first", "network_out__first"),
            ("its last", "network_out__last"),
            ("its tile", "network_out__target"),
            ("the flit", "network_out__data"),
        ),
    ),
    (
        "from the network",
        (
            ("flits are offered, by lane", "network_in__valid"),
            ("they are taken, by lane", "network_in__ready"),
            ("the flits, by lane", "network_in__data"),
            ("a remote store is there", "landed__valid"),
            ("the first level loses a line", "invalidate__valid"),
        ),
    ),
)
"""Of a tile of SARC's chip."""

OF_FIFO: tuple[Group, ...] = (
    (
        "processor",
        (
            ("an access is offered", "register_valid"),
            ("it is over", "register_ready"),
            ("it is a store", "register_write"),
            ("its register", "register_address"),
            ("what is stored", "register_write_data"),
            ("what is loaded", "register_read_data"),
        ),
    ),
    (
        "to the network",
        (
            ("a doubleword leaves", "send_valid"),
            ("it is taken", "send_ready"),
            ("a packet's last", "send_last"),
            ("the doubleword", "send_data"),
        ),
    ),
    (
        "from the network",
        (
            ("a doubleword is offered", "receive_valid"),
            ("it is taken", "receive_ready"),
            ("a packet's last", "receive_last"),
            ("the doubleword", "receive_data"),
            ("its buffer is free", "receive_done"),
            ("nothing to do", "quiet"),
        ),
    ),
)
"""Of hardware in the place of a FIFO."""

OF_BUS: tuple[Group, ...] = (
    (
        "bus",
        (
            ("a request, or a doubleword of it", "bus_valid"),
            ("it is taken", "bus_ready"),
            ("it is a write", "bus_write"),
            ("its address", "bus_address"),
            ("its bytes", "bus_bytes"),
            ("what is written", "bus_data"),
            ("it is answered", "bus_reply_valid"),
            ("what was read", "bus_reply_data"),
            ("it is over", "bus_reply_last"),
        ),
    ),
)
"""Of its bus port, if it has one."""


def write_view(
    waves: str | Path, scopes: Iterable[str], groups: Iterable[Group], ports: Iterable[Port]
) -> Path:
    """Write the view of a file of waves beside it; returns where.

    `scopes` are the names of the instances in it, their levels divided by points. Raises
    `NarthexError` where it cannot be written.
    """
    file = Path(waves).with_suffix(".gtkw")
    widths = {port.name: port.width for port in ports}
    lines = [f'[dumpfile] "{Path(waves).resolve()}"', "[timestart] 0", "[sst_expanded] 1"]
    for scope in scopes:
        for what, rows in groups:
            lines += ["@200", f"-{scope}: {what}"]
            for name, port in rows:
                width = widths[port]
                of_bits = f"[{width - 1}:0]" if width > 1 else ""
                lines += ["@22" if width > 4 else "@28", f"+{{{name}}} {scope}.{port}{of_bits}"]
    try:
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise NarthexError(f"waves' view cannot be written to {file}: {error.strerror}") from error
    return file


@dataclass(frozen=True)
class Signal:
    """How a signal changes."""

    width: int
    """In bits."""
    changes: list[tuple[int, int]]
    """Times in picoseconds, each with the value from then on."""

    def at(self, time: int) -> int:
        """Return its value at a time; 0 before the first."""
        value = 0
        for since, each in self.changes:
            if since > time:
                break
            value = each
        return value

    def rises(self) -> list[int]:
        """Return when it becomes something else than 0."""
        before = 0
        times = []
        for time, value in self.changes:
            if value and not before:
                times.append(time)
            before = value
        return times


def read(file: Path, names: Sequence[str]) -> Mapping[str, Signal]:
    """Read these signals of a file that Narthex has written; levels of names are divided by points.

    Raises `NarthexError` for a signal that is not in it.
    """
    scope: list[str] = []
    codes: dict[str, list[str]] = {}
    found: dict[str, Signal] = {}
    wanted, time = set(names), 0
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if not words:
                continue
            first = words[0]
            if first == "$scope":
                scope.append(words[2])
            elif first == "$upscope":
                scope.pop()
            elif first == "$var":
                name = ".".join([*scope, words[4]])
                if name in wanted:
                    codes.setdefault(words[3], []).append(name)
                    found[name] = Signal(int(words[2]), [])
            elif first[0] == "#":
                time = int(first[1:])
            elif first[0] in "01b":
                is_bus = first[0] == "b"
                code, value = (words[1], first[1:]) if is_bus else (first[1:], first[0])
                for name in codes.get(code, ()):
                    found[name].changes.append((time, int(value, 2)))
    if missing := sorted(wanted - set(found)):
        raise NarthexError(f"{file} has no signal '{missing[0]}'")
    return found
