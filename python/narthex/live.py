"""A run while it goes on: how its nodes stand, and a page that shows it.

the simulator ──► `Watched.hear`, twice a second ──► Standing ──► a page in a file, once a second
                                                          └──► the terminal (`cli.live`)

The page is written beside its place and renamed, so that a browser never reads half of one, and
asks the browser to read it again; at the end of the run it does not any more. No server is
needed, and nothing of it changes what comes of the run.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from narthex import files, waits
from narthex.errors import NarthexError

Document = dict[str, Any]

PAGE_EVERY_S = 1
"""Between two writings of the page, and how often the browser reads it."""

MOST_NODES = 64
"""Nodes that have a row on the page; the others are counted by what they do."""

RUNNING = "running"
FINISHED = "finished"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Standing:
    """How a run stands: its nodes at an instant, and how fast it is."""

    time_ps: int
    nodes: list[Document]
    instructions_per_s: float
    """Of this computer's time, since it stood as before."""
    simulated_us_per_s: float

    @property
    def ranked(self) -> list[waits.Wait]:
        """For what processors have waited since the begin of the run, the longest first."""
        nodes = [{**node, "statistics": {}} for node in self.nodes]
        return waits.ranked({"nodes": nodes, "regions": []})

    @property
    def states(self) -> list[tuple[int, str]]:
        """What each node does: its first processor that has not ended, or "ended"."""
        return [(node["node"], _state(node)) for node in self.nodes]

    def total(self, name: str) -> int:
        """Return the sum of a count over the nodes."""
        return sum(node[name] for node in self.nodes)


def _state(node: Document) -> str:
    for processor in node["processors"]:
        if not processor["has_ended"]:
            return f"{processor['activity']}, {processor['spent_in'].replace(' / ', ', ')}"
    return "ended"


def left_over(states: list[tuple[int, str]], most: int) -> str:
    """Say in a line what the nodes do that have no row; empty if all have one."""
    others = Counter(state.partition(",")[0] for _, state in states[most:])
    return ", ".join(f"{count:,} {state}" for state, count in others.most_common())


class Watched:
    """What is known of a run that goes on, and the page that shows it, if one is wanted.

    Enter it before the run, and leave it after: the page then says how the run has ended.
    """

    def __init__(self, what: str, page: str | Path | None = None) -> None:
        self.what = what
        self.last: Standing | None = None
        self.lost: str | None = None
        """Why the page could not be written, if it could not; the run goes on."""
        self._page = None if page is None else Path(page)
        self._time_ps = 0
        self._heard = self._begun = time.monotonic()
        self._written = -float(PAGE_EVERY_S)
        self._listener: Callable[[Standing], object] | None = None

    def __enter__(self) -> Self:
        self._write(RUNNING)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        told = f"ended: {error}" if isinstance(error, NarthexError) else INTERRUPTED
        state = FINISHED if kind is None else told
        try:
            self._write(state)
        except KeyboardInterrupt:  # else the page would wait for ever
            self._write(state)
            raise

    def tell(self, listener: Callable[[Standing], object]) -> None:
        """Call `listener` whenever there is news."""
        self._listener = listener

    def at(self, time_ps: int) -> None:
        """Note how far simulated time is."""
        self._time_ps = time_ps

    def hear(self, text: str) -> None:
        """Take how the nodes stand, as the simulator says it."""
        now = time.monotonic()
        nodes = json.loads(text)
        elapsed_s = max(now - self._heard, 1e-9)
        before, before_ps = (_retired(self.last.nodes), self.last.time_ps) if self.last else (0, 0)
        self.last = Standing(
            self._time_ps,
            nodes,
            (_retired(nodes) - before) / elapsed_s,
            (self._time_ps - before_ps) / 1e6 / elapsed_s,
        )
        self._heard = now
        if now - self._written >= PAGE_EVERY_S:
            self._write(RUNNING)
        if self._listener:
            self._listener(self.last)

    def _write(self, state: str) -> None:
        if self._page is None or self.lost:
            return
        from narthex.report import live

        self._written = time.monotonic()
        elapsed_s = self._written - self._begun
        again_s = PAGE_EVERY_S if state == RUNNING else None
        try:
            text = live.page(self.what, state, elapsed_s, self.last, again_s)
            files.write_whole(self._page, text.encode())
        except OSError as error:
            self.lost = f"the page '{self._page}' cannot be written any more: {error.strerror}"


def _retired(nodes: list[Document]) -> int:
    return sum(each["retired"] for node in nodes for each in node["processors"])
