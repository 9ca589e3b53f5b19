"""The parameters of the fitted executor, with their intervals.

They come from a document of `narthex fit logp`, or from a file of LogGOPSim's arguments. LogGOPSim
has one overhead for both sides, and lets the bytes of a message pass both at the same time,
T(k) = 2 o + L + (k-1) max(O, G); so the latency takes back what both overheads count:
L_byte = max(O, G) - 2 O.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from narthex import files
from narthex.errors import NarthexError, unknown

MOST_BYTES = 256 << 20
EAGER_BYTES = 2**63 - 1
"""The messaging library never waits for a receiver."""

Lines = dict[str, dict[str, float]]
NAMES = {
    "latency": ("L_ns", "L_byte_ns_per_byte"),
    "send_overhead": ("o_s_ns", "O_s_ns_per_byte"),
    "receive_overhead": ("o_r_ns", "O_r_ns_per_byte"),
    "gap": ("g_ns", "G_ns_per_byte"),
}
"""The simulator's name of each line, and the document's names of its two parts."""
LOGGOPSIMS = "LogGOPSim's"
"""In the place of an interface's name, where arguments of LogGOPSim have none."""
LOGGOPSIM = ("L", "o", "g", "G", "O", "S")


@dataclass(frozen=True)
class Fitted:
    """The parameters of an interface: as found, and at either end of their intervals."""

    interface: str
    value: Lines
    low: Lines
    high: Lines
    eager_bytes: int = EAGER_BYTES

    def with_program(self, part_ns: float) -> "Fitted":
        """Return them with a program's part of a message in the overheads, half in either."""

        def longer(lines: Lines) -> Lines:
            overheads = {
                name: {**lines[name], "first_ns": lines[name]["first_ns"] + part_ns / 2}
                for name in ("send_overhead", "receive_overhead")
            }
            return {**lines, **overheads}

        ends = {"low": longer(self.low), "high": longer(self.high)}
        return replace(self, value=longer(self.value), **ends)

    def requests(self, calculation_scale: float, eager_bytes: int | None) -> list[dict[str, Any]]:
        """Return them as the simulator takes them: the value, then the ends if they differ."""
        sets = [self.value]
        if self.low != self.value or self.high != self.value:
            sets += [self.low, self.high]
        eager = self.eager_bytes if eager_bytes is None else eager_bytes
        return [
            {**lines, "eager_bytes": eager, "calculation_scale": calculation_scale}
            for lines in sets
        ]


@dataclass(frozen=True)
class Calibration:
    """What nodes were over the model with one interface: for makespans of other schedules."""

    interface: str
    program_ns: float
    """The program's part of a message, in both overheads."""
    low: float
    high: float
    """The least and the most that nodes took over the model with the program's part."""
    schedules: int


def calibrated(file: str | Path, interface: str) -> Calibration:
    """Read what `narthex goal fidelity --json FILE` found of an interface."""
    try:
        entries = json.loads(files.read(Path(file), "the fidelity", MOST_BYTES))["calibrations"]
        found = {entry["interface"]: Calibration(**entry) for entry in entries}
    except (ValueError, KeyError, TypeError):
        raise NarthexError(
            f"'{file}' has no calibrations; expected what 'narthex goal fidelity ... --json FILE'"
            " writes"
        ) from None
    if interface not in found:
        raise unknown(f"interface in '{file}'", interface, found)
    return found[interface]


def of_entry(entry: dict[str, Any]) -> Fitted:
    """Return the parameters of an entry of a fit's document."""
    try:
        value, low, high = (
            {
                name: {
                    "first_ns": float(entry["parameters"][first][which]),
                    "per_byte_ns": float(entry["parameters"][byte][which]),
                }
                for name, (first, byte) in NAMES.items()
            }
            for which in ("value", "low", "high")
        )
        return Fitted(entry["interface"], value, low, high)
    except (KeyError, TypeError, ValueError) as error:
        raise NarthexError(f"no parameters of LogGP: {error} is missing or no number") from None


def load(file: str | Path, interface: str | None = None) -> Fitted:
    """Read a document of `narthex fit logp`, or a file of LogGOPSim's arguments.

    `interface` chooses where the document has several.
    """
    data = files.read(Path(file), "parameters", MOST_BYTES)
    try:
        text = data.decode()
        if text.lstrip().startswith("-"):
            return _of_arguments(text)
        entries = json.loads(text)["fits"]
        names = [entry["interface"] for entry in entries]
    except (ValueError, KeyError, TypeError):
        raise NarthexError(
            f"'{file}' has no parameters; expected what 'narthex fit logp ... --json FILE' writes,"
            " or LogGOPSim's arguments: -L 169 -o 239 -g 205 -G 3 -O 2 -S 65536"
        ) from None
    except NarthexError as error:
        raise NarthexError(f"'{file}': {error}") from None
    if len(names) == 1 and interface is None:
        return of_entry(entries[0])
    if interface is None:
        raise NarthexError(f"'{file}' has several interfaces; choose one by -i: {', '.join(names)}")
    for entry in entries:
        if entry["interface"].casefold() == interface.casefold():
            return of_entry(entry)
    raise unknown("interface", interface, names)


def _of_arguments(text: str) -> Fitted:
    words = text.split()
    given: dict[str, float] = {}
    for option, value in zip(words[::2], [*words[1::2], ""], strict=False):
        name = option.removeprefix("-")
        if name not in LOGGOPSIM:
            raise unknown("parameter", name, LOGGOPSIM)
        try:
            given[name] = float(value)
        except ValueError:
            raise NarthexError(f"-{name} '{value}': expected a number") from None
    missing = [name for name in ("L", "o", "g", "G") if name not in given]
    if missing:
        raise NarthexError(f"-{missing[0]} is missing")
    big_o = given.get("O", 0.0)
    overhead = _line(given["o"], big_o)
    lines = {
        "latency": _line(given["L"], max(big_o, given["G"]) - 2 * big_o),
        "send_overhead": overhead,
        "receive_overhead": overhead,
        "gap": _line(given["g"], given["G"]),
    }
    return Fitted(LOGGOPSIMS, lines, lines, lines, int(given.get("S", EAGER_BYTES)))


def _line(first_ns: float, per_byte_ns: float) -> dict[str, float]:
    return {"first_ns": first_ns, "per_byte_ns": per_byte_ns}
