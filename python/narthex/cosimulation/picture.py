"""A remote store as waves: what `narthex explain SARC --of remote-store` tells, in signals.

sarc-remote-store over SARC@rtl ──► VCD ──► the cycles of one store ──► charts.waves
"""

import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from narthex import running
from narthex.charts import waves as chart
from narthex.cosimulation import waves
from narthex.errors import NarthexError

PERIOD_PS = Fraction(40_000, 3)
"""Of the prototype's clock, 75 MHz."""
STORE = 5
"""The operation of a packet with a remote store (hardware/cache/formats.py)."""

SENDER = {
    "processor": ("processor__valid", "processor__ready", "processor__address", "processor__data"),
    "network": ("network_out__valid", "network_out__first", "network_out__last",
                "network_out__data"),
}  # fmt: skip
RECEIVER = ("network_in__valid", "network_in__ready", "network_in__data", "landed__valid")

WORDS = {
    "processor__valid": "the processor asks",
    "processor__ready": "the port takes what is asked",
    "processor__address": "its address",
    "processor__data": "what it stores",
    "network_out__valid": "a flit leaves",
    "network_out__first": "the packet's first",
    "network_out__last": "its last",
    "network_out__data": "the flit",
    "network_in__valid": "flits wait, by lane",
    "network_in__ready": "they are taken, by lane",
    "network_in__data": "the flit of lane 1",
    "landed__valid": "the store is there",
}

LANE = 1
"""Of writes: its flits are the middle third of the port's bits."""


def remote_store() -> str:
    """Return a remote store from tile 0 to tile 1 as SVG."""
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        file = Path(scratch) / "store.vcd"
        running.run(
            "sarc-remote-store", "store", 1, 8, interface="SARC@rtl", machine="sarc-prototype",
            waves=file,
        )  # fmt: skip
        names = [f"node_0.tile_0.{port}" for ports in SENDER.values() for port in ports]
        names += [f"node_0.tile_1.{port}" for port in RECEIVER]
        return _drawn(waves.read(file, names))


class _Cycles:
    """Signals by the cycles of the clock: a cycle's value is that before its last edge."""

    def __init__(self, signals: "dict[str, waves.Signal]", tile: int) -> None:
        self.signals, self.tile = signals, tile

    def signal(self, port: str) -> waves.Signal:
        return self.signals[f"node_0.tile_{self.tile}.{port}"]

    def at(self, port: str, cycle: int) -> int:
        return self.signal(port).at(int((cycle + 1) * PERIOD_PS) - int(PERIOD_PS) // 4)

    def changes(self, port: str, first: int, count: int) -> list[tuple[float, int]]:
        values = [self.at(port, first + own) for own in range(count)]
        if port == "network_in__data":
            values = [value >> 64 * LANE & (1 << 64) - 1 for value in values]
        kept = [(0.0, values[0])]
        kept += [
            (float(own), value)
            for own, value in enumerate(values)
            if own and value != values[own - 1]
        ]
        return kept


def _cycle_of(time: int) -> int:
    """Return the cycle in which a signal is seen to change at a time."""
    return int(Fraction(time) / PERIOD_PS)


def _drawn(signals: "dict[str, waves.Signal]") -> str:
    sender, receiver = _Cycles(signals, 0), _Cycles(signals, 1)
    begins = _store(sender)
    asked = max(
        _cycle_of(time)
        for time in sender.signal("processor__valid").rises()
        if _cycle_of(time) <= begins
    )
    lands = next(
        _cycle_of(time)
        for time in receiver.signal("landed__valid").rises()
        if _cycle_of(time) > begins
    )
    comes = max(
        _cycle_of(time)
        for time in receiver.signal("network_in__valid").rises()
        if _cycle_of(time) <= lands
    )
    first, count = asked - 1, lands - asked + 4
    rows = [
        *_rows(sender, "Tile 0: processor", SENDER["processor"], first, count),
        *_rows(sender, "Tile 0: to the network", SENDER["network"], first, count),
        *_rows(receiver, "Tile 1: from the network", RECEIVER, first, count),
    ]
    marks = [
        (asked - first, "the store is asked for, and waits for one that would join it"),
        (begins - first, "its packet begins to leave"),
        (comes - first, "all of it is at tile 1"),
        (lands - first, "it is written"),
    ]
    return chart.svg("A remote store as waves", rows, count, marks)


def _store(sender: _Cycles) -> int:
    """Return the cycle in which the packet of a store begins to leave; not the first ones."""
    cycles = [_cycle_of(time) for time in sender.signal("network_out__first").rises()]
    stores = [cycle for cycle in cycles if sender.at("network_out__data", cycle) & 0xFF == STORE]
    if not stores:
        raise NarthexError("no remote store leaves tile 0 in these waves")
    return stores[-1]


def _rows(
    cycles: _Cycles, heading: str, ports: Sequence[str], first: int, count: int
) -> list[chart.Row]:
    rows = [chart.Row(heading)]
    for port in ports:
        width = cycles.signal(port).width
        rows.append(chart.Row(WORDS[port], width, cycles.changes(port, first, count)))
    return rows
