"""A run that is watched in the terminal: `narthex run --live`."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from narthex import live, waits
from narthex.cli.console import Waiting
from narthex.cli.terminal import is_quiet, printable, warn

if TYPE_CHECKING:
    from narthex.live import Standing, Watched

MOST_NODES = 16
"""Nodes that have a row in the terminal."""

MOST_WAITS = 5
"""Waits that have one."""

OTHER_LINES = 16
"""On the screen, besides the nodes' rows: headings, waits, the last line."""


class LiveView:
    """Shows a watched run: on a terminal as tables that change, in a log as lines.

    Without `tables` it is the line of any command that takes long. Tables are on standard error,
    so that what the program writes stays apart, and go when the run ends.
    """

    def __init__(self, watched: "Watched", *, tables: bool) -> None:
        self._watched = watched
        self._waiting = Waiting(watched.what)
        self._has_tables = tables and sys.stderr.isatty() and not is_quiet()
        self._tells_more = tables
        self._screen: Any = None

    def __enter__(self) -> Self:
        if self._has_tables:
            from rich.console import Console
            from rich.live import Live

            self._screen = Live(console=Console(stderr=True), transient=True, auto_refresh=False)
            self._screen.start()
            self._watched.tell(self._show)
        self._waiting.__enter__()
        self._watched.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._screen:
                self._screen.stop()
            self._waiting.__exit__(kind, error, trace)
        finally:
            self._watched.__exit__(kind, error, trace)
        if self._watched.lost:
            warn([self._watched.lost])

    def at(self, time_ps: int) -> bool:
        """Note how far simulated time is; returns true, so that it can be a run's observer."""
        self._watched.at(time_ps)
        if self._has_tables:
            return True
        return self._waiting.update(f"{time_ps / 1e9:.3f} ms simulated{self._more()}")

    def _more(self) -> str:
        """Say in a line how fast the run is, and for what is waited most."""
        standing = self._watched.last
        if not self._tells_more or standing is None:
            return ""
        told = f", {standing.instructions_per_s / 1e6:.2f} million instructions a second"
        for wait in standing.ranked[:1]:
            told += f", waits for {wait.cause}: {100 * (wait.share or 0):.0f} %"
        return told

    def _show(self, standing: "Standing") -> None:
        from rich.console import Group
        from rich.text import Text

        room = self._screen.console.height - OTHER_LINES
        shown = max(min(MOST_NODES, room), 1)
        others = live.left_over(standing.states, shown)
        below = [Text(printable(f"other nodes: {others}"), no_wrap=True)] if others else []
        heading = [Text(printable(line), no_wrap=True) for line in self._heading(standing)]
        parts = [*heading, _waits(standing), _nodes(standing, shown), *below]
        self._screen.update(Group(*parts), refresh=True)

    def _heading(self, standing: "Standing") -> list[str]:
        return [
            f"{self._watched.what}: {standing.time_ps / 1e6:,.3f} us simulated",
            f"{standing.simulated_us_per_s:,.1f} us and"
            f" {standing.instructions_per_s / 1e6:,.2f} million instructions a second;"
            f" {standing.total('messages_sent'):,} messages sent",
        ]


def _waits(standing: "Standing") -> Any:  # noqa: ANN401 - Rich is imported where it is used
    rows = [
        (wait.cause, f"{100 * (wait.share or 0):.1f}", waits.in_words(wait.activities))
        for wait in standing.ranked[:MOST_WAITS]
    ]
    return _table(["waited for", "% of time", "while"], rows, [1], "while")


def _nodes(standing: "Standing", shown: int) -> Any:  # noqa: ANN401
    names = ["node", "does", "sent", "in flight", "came back", "to be taken"]
    keys = ["messages_sent", "packets_unacknowledged", "packets_returned", "packets_waiting"]
    rows = [
        (str(node["node"]), state, *(f"{node[key]:,}" for key in keys))
        for node, (_, state) in zip(standing.nodes, standing.states[:shown], strict=False)
    ]
    return _table(names, rows, [0, 2, 3, 4, 5], "does")


def _table(names: list[str], rows: list[tuple[str, ...]], numbers: list[int], cut: str) -> Any:  # noqa: ANN401
    """Return a table of a line a row; where the screen is too narrow, one column is cut."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for index, name in enumerate(names):
        side: Literal["left", "right"] = "right" if index in numbers else "left"
        least = None if name == cut else max([len(name), *(len(row[index]) for row in rows)])
        table.add_column(name, justify=side, no_wrap=True, overflow="ellipsis", min_width=least)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
