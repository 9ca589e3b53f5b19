"""Signals of hardware over time, as SVG: lines of one bit, boxes of more with their values.

cycle              0    1    2    3
an access is offered  ‾‾‾‾‾____________
its address           < 1000200040 >────
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narthex.charts.svg import document, fill, stroke, text

MARGIN, NAMES, ROW, HIGH = 16, 196, 24, 15
"""Points around the picture, of the column of names, of a row, and of a signal's height."""
CYCLE = 46
"""Points of a clock cycle."""
LETTER = 6.4
"""Points of a digit, about."""


@dataclass(frozen=True)
class Row:
    """A signal, or a heading above some."""

    name: str
    width: int = 0
    """Bits; of a heading 0."""
    changes: Sequence[tuple[float, int]] = ()
    """When it changes, in cycles from the begin, and to what."""


def svg(caption: str, rows: Sequence[Row], cycles: int, marks: Sequence[tuple[float, str]]) -> str:
    """Return the picture of some cycles; `marks` say what happens in one."""
    left = MARGIN + NAMES
    top = MARGIN + 22 + 18 * len(marks)
    foot = top + ROW * len(rows)
    width = left + CYCLE * cycles + MARGIN
    drawn = [f'<rect {fill("surface")} width="100%" height="100%"/>']
    for cycle in range(cycles + 1):
        x = left + CYCLE * cycle
        drawn.append(f'<path {stroke("line")} d="M{x} {top - 4}V{foot}"/>')
        if cycle < cycles:
            drawn.append(text(x + CYCLE // 2, top - 8, str(cycle), anchor="middle", colour="muted"))
    drawn.append(text(left - 8, top - 8, "clock cycle", anchor="end", colour="muted"))
    for count, (cycle, told) in enumerate(marks):
        x, y = round(left + CYCLE * (cycle + 0.5)), MARGIN + 12 + 18 * count
        is_right = cycle > cycles / 2
        drawn.append(
            f'<path {stroke("published")} d="M{x} {y - 8}V{foot}" stroke-dasharray="3 3"/>'
        )
        beside = x - 5 if is_right else x + 5
        drawn.append(
            text(beside, y, told, anchor="end" if is_right else "start", colour="published")
        )
    for count, row in enumerate(rows):
        y = top + ROW * count + ROW - 5
        if row.width == 0:
            drawn.append(text(MARGIN, y, row.name, is_bold=True))
            continue
        drawn.append(text(left - 8, y, row.name, anchor="end"))
        drawn.extend(_signal(row, left, y, cycles))
    return document(width, foot + MARGIN, f"{caption}: {len(rows)} signals", drawn)


def _signal(row: Row, left: int, y: int, cycles: int) -> Iterator[str]:
    spans = [
        (max(begin, 0.0), min(end, float(cycles)), value)
        for (begin, value), (end, _) in zip(
            row.changes, [*row.changes[1:], (float(cycles), 0)], strict=True
        )
        if end > 0 and begin < cycles and end > begin
    ]
    if row.width == 1:
        path = ""
        for begin, end, value in spans:
            level = y - HIGH * value
            path += f"{'L' if path else 'M'}{_x(left, begin)} {level}H{_x(left, end)}"
        yield f'<path {stroke("measured")} d="{path}" stroke-width="1.6"/>'
        return
    for begin, end, value in spans:
        x, right = _x(left, begin), _x(left, end)
        if value == 0:
            middle = y - HIGH // 2
            yield f'<path {stroke("measured")} d="M{x} {middle}H{right}" stroke-width="1.6"/>'
            continue
        yield (
            f'<rect {fill("plain-surface", "measured")} x="{x}" y="{y - HIGH}"'
            f' width="{max(1, right - x)}" height="{HIGH}"/>'
        )
        digits = f"{value:x}"
        room = int((right - x - 10) / LETTER)
        if len(digits) > room > 2:
            digits = f"…{digits[1 - room :]}"
        if len(digits) <= room:
            yield text((x + right) // 2, y - 3, digits, anchor="middle")


def _x(left: int, cycle: float) -> int:
    return round(left + CYCLE * cycle)
