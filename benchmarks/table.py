"""The table of a bench, and what has changed since another one."""

from collections.abc import Sequence

from benchmarks.document import Document
from benchmarks.measure import Measure

COLUMNS = ("measure", "value", "95 % interval", "ratio")
COMPARED = ("measure", "value", "before", "change", "ratio", "its change")
RIGHT = (*COLUMNS[1:], *COMPARED[1:])

NEXT_TO_NOTHING = 0.001
"""Counted instructions change so little by themselves."""

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"))


def quantity(value: float, unit: str) -> str:
    """Write a value with three digits and its unit: `3.21 M events/s`, `1.50 ms`."""
    if unit == "host instructions":
        return f"{value:,.1f} {unit}" if value < 1000 else f"{value:,.0f} {unit}"
    prefixes = _SMALL if unit == "s" else _PREFIXES
    factor, prefix = next((each for each in prefixes if abs(value) >= each[0]), prefixes[-1])
    space = "" if unit in ("s", "B") else " "
    return f"{three_digits(value / factor)} {prefix}{space if prefix else ''}{unit}"


def three_digits(value: float) -> str:
    """Write a number with three digits, more only in front of the point."""
    if value == 0:
        return "0"
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{decimals}f}" if abs(value) >= 0.01 else f"{value:.2g}"


def spread(measure: Measure) -> str:
    """Write the interval as percents below and above the value; nothing for what was counted."""
    if measure.samples == 1 or not measure.value:
        return ""
    low, high = (100 * (edge / measure.value - 1) for edge in (measure.low, measure.high))
    return f"{low:+.0f} .. {high:+.0f} %"


def cells(measure: Measure) -> list[str]:
    """Return a measure as a row."""
    is_baseline = measure.name == measure.baseline
    return [
        measure.name,
        quantity(measure.value, measure.unit),
        spread(measure),
        "baseline" if is_baseline else three_digits(measure.ratio),
    ]


def change(now: float, before: float) -> str:
    """Write how much a value has changed, in percent of what it was."""
    return f"{100 * (now / before - 1):+.1f} %" if before else ""


def compared(measure: Measure, before: Measure | None) -> list[str]:
    """Return a measure as a row beside what it was before."""
    name, value, _, ratio = cells(measure)
    if before is None:
        return [name, value, "new", "", ratio, ""]
    is_baseline = measure.name == measure.baseline
    return [
        name,
        value,
        _short(before),
        change(measure.value, before.value) + _beyond(measure, before),
        ratio,
        "" if is_baseline else change(measure.ratio, before.ratio),
    ]


def _short(measure: Measure) -> str:
    """Write a value whose unit stands beside it already."""
    text = quantity(measure.value, measure.unit)
    return text if measure.unit in ("s", "B") else text.removesuffix(measure.unit).rstrip()


def _beyond(now: Measure, before: Measure) -> str:
    """Mark a change that is larger than both intervals together, and not next to nothing."""
    apart = now.low > before.high or now.high < before.low
    return " *" if apart and abs(now.value / before.value - 1) > NEXT_TO_NOTHING else ""


def rows(measures: Sequence[Measure], before: Document | None) -> list[tuple[str, list[list[str]]]]:
    """Return each group's name and rows."""
    earlier = {(each.group, each.name): each for each in before.measures} if before else {}
    made: dict[str, list[list[str]]] = {}
    for measure in measures:
        row = cells(measure)
        if before:
            row = compared(measure, earlier.get((measure.group, measure.name)))
        made.setdefault(measure.group, []).append(row)
    return list(made.items())


def gone(measures: Sequence[Measure], before: Document) -> list[str]:
    """Return what was measured before and is not now."""
    here = {(each.group, each.name) for each in measures}
    earlier = ((each.group, each.name) for each in before.measures)
    return [f"{group}: {name}" for group, name in earlier if (group, name) not in here]


def comparability(now: Document, before: Document) -> list[str]:
    """Return what speaks against comparing the two."""
    doubts = []
    if now.host != before.host:
        differing = [key for key in now.host if now.host[key] != before.host.get(key)]
        told = ", ".join(f"{key} {before.host.get(key)} -> {now.host[key]}" for key in differing)
        doubts.append(f"another machine: {told}")
    if now.quick or before.quick:
        doubts.append("a quick bench: few samples, small programs")
    return doubts
