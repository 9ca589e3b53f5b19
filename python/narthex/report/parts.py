"""What a page is made of: sections, and in them facts, tables, charts and lives.

A part knows nothing of HTML; the template has one macro for each kind. All of
its texts are escaped there, because programs wrote some of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from narthex import notation

Tone = Literal["good", "bad", "plain"]


@dataclass(frozen=True)
class Mark:
    """A cell or a fact that says how something went; its words say it without the colour."""

    text: str
    tone: Tone

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Shares:
    """A cell that is a bar of shares of one, each with its name and its colour."""

    parts: list[tuple[str, str, float]]

    def __str__(self) -> str:
        return ", ".join(f"{name} {percent(share)} %" for name, _, share in self.parts)


@dataclass(frozen=True)
class Gauge:
    """A cell with a value and below it a bar, as long as the value is a share of the largest."""

    text: str
    share: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Link:
    """A cell that leads to a section of the same result."""

    text: str
    to: str
    """The begin of the section's title; the page puts the section's name in its place."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Below:
    """A cell that leads to a section below that of its table, by its place there."""

    text: str
    place: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Links:
    """A cell with several links."""

    links: tuple[Link, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.links))


Cell = str | Mark | Shares | Gauge | Below | Links


def bar(name: str, value: float, largest: float) -> Shares:
    """Return a cell with a bar as long as a value is large, beside the largest of its column."""
    return Shares([(name, "var(--measured)", value / largest if largest else 0)])


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    is_number: bool = False


def columns(*names: str, numbers: Sequence[str] = ()) -> list[Column]:
    """Return columns; those in `numbers` are set to the right."""
    return [Column(name, name in numbers) for name in names]


@dataclass(frozen=True)
class Table:
    """Rows under a caption; the first cell of a row is its heading."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    is_folded: bool = False
    """Whether it is closed until the reader opens it."""
    idents: Sequence[str] = ()
    """Of its rows, so that points of charts lead to them."""
    kind: str = "table"


def without_empty(table: Table) -> Table:
    """Return a table without the columns in which no row has anything."""
    kept = [
        place
        for place in range(len(table.columns))
        if not place or any(str(row[place]) for row in table.rows)
    ]
    rows = [[row[place] for place in kept] for row in table.rows]
    return replace(table, columns=[table.columns[place] for place in kept], rows=rows)


@dataclass(frozen=True)
class Chart:
    """A picture, and the numbers that it shows."""

    title: str
    description: str
    """What it shows, for those who do not see it."""
    specification: dict[str, Any]
    """In Vega-Lite."""
    table: Table
    kind: str = "chart"


@dataclass(frozen=True)
class Measure:
    """What an axis of a `Front` can be."""

    name: str
    column: str
    """Where a row has its value, a number or None."""
    is_more_better: bool


@dataclass(frozen=True)
class Front(Chart):
    """Points by two of several measures, which the reader chooses, and those that none beats.

    The first two measures are drawn at first; the page's script (templates/front.js) draws
    others, and marks the rows of the table that are on the front then.
    """

    measures: Sequence[Measure] = ()
    kind: str = "front"


@dataclass(frozen=True)
class Facts:
    """Short answers, each with its name."""

    entries: list[tuple[str, Cell]]
    kind: str = "facts"


@dataclass(frozen=True)
class Paragraph:
    """A sentence or two."""

    text: str
    kind: str = "paragraph"


@dataclass(frozen=True)
class Verbatim:
    """What a program wrote."""

    caption: str
    text: str
    kind: str = "verbatim"


@dataclass(frozen=True)
class Picture:
    """A drawing of our own, whose texts are escaped where it is made (`charts.diagram`)."""

    caption: str
    svg: str
    kind: str = "picture"


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    parts: list[Any] = field(default_factory=list)
    sections: list["Section"] = field(default_factory=list)
    ident: str = ""
    """Where links lead; the page makes one if it is missing."""
    mark: Mark | None = None
    """How it went, in a word or two: for the list of contents."""
    is_folded: bool = False
    """Whether it is closed until the reader opens it."""


def number(value: float, digits: int = 2) -> str:
    """Print a number with separators, whole ones without decimals, small ones with an exponent."""
    if 0 < abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"
    return notation.short(value, digits)


def percent(share: float) -> str:
    """Print a share of one in percent."""
    return f"{100 * share:.1f}"
