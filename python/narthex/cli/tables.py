"""Tables in the terminal.

A number or a name stands on one line, whatever the width of the terminal. Where a table is
too wide, sentences and headings are broken between words; then columns that can be missed
are left out, which the table says. What still does not fit is printed below, in further
parts that begin with the same columns, or, with sentences, as one record a row. In a pipe
or a file a row is one line: its reader looks for words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from narthex.cli.terminal import console, printable, say

if TYPE_CHECKING:
    from rich.console import Console

BETWEEN = 3
"""Characters between two columns."""

NARROWEST_PROSE = 12
"""Characters of a column of sentences, at least, if they are that long."""

CONTINUED = "(continued)"


@dataclass(frozen=True)
class Column:
    """A column: its heading, its cells, and how they are set."""

    name: str
    cells: list[str]
    is_number: bool = False
    is_prose: bool = False
    """Whether its cells may be broken between words."""
    widths: tuple[int, int] = field(init=False)
    """In characters: the least, and that in which nothing is broken."""

    def __post_init__(self) -> None:
        from rich.cells import cell_len

        def longest(parts: Iterable[str]) -> int:
            return max(map(cell_len, parts), default=0)

        cell = longest(line for each in self.cells for line in each.split("\n"))
        word = longest(word for each in self.cells for word in each.split())
        least = max(word, min(cell, NARROWEST_PROSE)) if self.is_prose else cell
        heading = longest(self.name.split())
        object.__setattr__(self, "widths", (max(heading, least), max(cell_len(self.name), cell)))


def print_table(
    title: str,
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    right: Sequence[str] = (),
    styles: Sequence[str] = (),
    *,
    prose: Sequence[str] = (),
    optional: Sequence[str] = (),
    keys: int = 0,
) -> None:
    """Print a table of columns; those that `right` names hold numbers, `styles` are the rows'.

    Columns that `prose` names hold sentences, all others numbers and names; those that
    `optional` names are left out, in this order, where the terminal is too narrow. The
    parts of a table that is divided begin with the first `keys` columns, or else with
    those before the numbers.
    """
    columns = columns_of(names, rows, right, prose)
    screen = console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _room(column.widths[1] for column in columns))
    chosen, missing = _without(columns, optional, screen.width)
    if not fits(chosen, screen.width) and any(column.is_prose for column in columns):
        _print_records(title, columns, screen.width)
        return
    divided = [chosen] if fits(chosen, screen.width) else parts(columns, screen.width, keys)
    for number, part in enumerate(divided):
        told = printable(f"{title} {CONTINUED}" if number else title)
        screen.print(told, style="bold", soft_wrap=True)
        _print(screen, part, styles)
    if missing and divided == [chosen]:
        names = ", ".join(f"'{name}'" for name in missing)
        say(f"not shown, for want of room: {names}")


def _without(
    columns: list[Column], optional: Sequence[str], width: int
) -> tuple[list[Column], list[str]]:
    """Leave columns out until the others fit; returns those, and the names of the missing."""
    missing: list[str] = []
    for name in optional:
        if fits(columns, width):
            break
        columns = [column for column in columns if column.name != name]
        missing.append(name)
    return columns, missing


def _print_records(title: str, columns: Sequence[Column], width: int) -> None:
    """Print each row as its first cell, and below it the others, a line or more each."""
    import textwrap

    first, *others = columns
    indent = max(len(column.name) for column in others) + 4
    say(f"{title}\n")
    for row, name in enumerate(first.cells):
        say(f"  {name}")
        for column in others:
            if cell := column.cells[row]:
                begin = f"    {column.name}".ljust(indent + BETWEEN)
                lines = textwrap.wrap(
                    cell, max(width - len(begin), NARROWEST_PROSE), break_long_words=False,
                    break_on_hyphens=False,
                )  # fmt: skip
                say(begin + f"\n{' ' * len(begin)}".join(lines))
    say("")


def columns_of(
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    right: Sequence[str] = (),
    prose: Sequence[str] = (),
) -> list[Column]:
    """Return the columns of rows."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    return [
        Column(printable(name), [row[index] for row in cells], name in right, name in prose)
        for index, name in enumerate(names)
    ]


def fits(columns: Sequence[Column], width: int) -> bool:
    """Tell whether nothing but sentences and headings is broken in such a width."""
    return _room(column.widths[0] for column in columns) <= width


def fits_whole(columns: Sequence[Column], width: int) -> bool:
    """Tell whether nothing at all is broken in such a width."""
    return _room(column.widths[1] for column in columns) <= width


def parts(columns: list[Column], width: int, keys: int = 0) -> list[list[Column]]:
    """Divide columns into tables that fit, which all begin with the same columns."""
    numbers = [index for index, column in enumerate(columns) if column.is_number]
    keys = keys or max(next(iter(numbers), 1), 1)
    if not fits(columns[:keys], width // 2):
        keys = 1
    repeated, others = columns[:keys], columns[keys:]
    divided: list[list[Column]] = [[]]
    for column in others:
        if divided[-1] and not fits([*repeated, *divided[-1], column], width):
            divided.append([])
        divided[-1].append(column)
    return [[*repeated, *part] for part in divided]


def _room(widths: Iterable[int]) -> int:
    """Return the width of a table with columns of these widths."""
    return sum(width + BETWEEN for width in widths) + 1


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """Divide the width: each column has its least, what is left goes where something is broken."""
    found = [column.widths[0] for column in columns]
    left = width - _room(found)
    for is_prose in (False, True):  # headings first: they are short
        wanting = [index for index, each in enumerate(columns) if each.is_prose == is_prose]
        wanting.sort(key=lambda index: columns[index].widths[1] - found[index])
        for done, index in enumerate(wanting):
            share = max(left, 0) // (len(wanting) - done)
            more = min(columns[index].widths[1] - found[index], share)
            found[index] += more
            left -= more
    return found


def _print(screen: "Console", columns: Sequence[Column], styles: Sequence[str]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    widths = _widths(columns, screen.width)
    for column, width in zip(columns, widths, strict=True):
        justify = "right" if column.is_number else "left"
        table.add_column(column.name, justify=justify, overflow="fold", width=width)
    rows = zip(*(column.cells for column in columns), strict=True)
    for row, style in zip_longest(rows, styles):
        table.add_row(*row, style=style)
    screen.width = max(screen.width, _room(widths))
    with screen.capture() as captured:
        screen.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
