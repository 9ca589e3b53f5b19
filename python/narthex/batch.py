"""Makes many runs, several at a time, and finds those that were made before.

Each run is its own simulated machine, so how many are made at a time changes
only the waiting time. They are made on threads: the simulator does not
hold the interpreter's lock.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import Any, TypeVar

from narthex.finished import FinishedRuns
from narthex.programs import Program
from narthex.remaining import Remaining
from narthex.results import Result
from narthex.running import simulate

Cell = TypeVar("Cell")
Made = TypeVar("Made")

Progress = Callable[[int, int, float | None], None]
"""Called with the number of finished runs, of all runs, and the seconds that
the others will still take, where that is known."""


class Batch:
    """Makes runs, keeps them, and can be stopped."""

    def __init__(self, *, fresh: bool) -> None:
        self._fresh = fresh
        self._finished = FinishedRuns()
        self._stop = Event()

    def goes_on(self) -> bool:
        """Tell whether no run has failed so far; the others need not go on after that."""
        return not self._stop.is_set()

    def run(self, wanted: dict[str, Any], program: Program) -> tuple[Result, float | None]:
        """Make a run or find it; returns the seconds that it took, if it was not found."""
        start = time.monotonic()
        kept = None if self._fresh else self._finished.find(wanted, program)
        if kept is not None:
            return kept, None
        result = simulate(wanted, program, lambda _time_ps: self.goes_on())
        self._finished.keep(wanted, program, result)
        return result, time.monotonic() - start

    def make_all(
        self,
        make: Callable[[Cell], tuple[Made, float | None]],
        cells: Sequence[Cell],
        kind: Callable[[Cell], str],
        jobs: int,
        progress: Progress,
    ) -> list[Made]:
        """Make all cells; those of a `kind` take about as long as each other.

        The first exception stops what still runs, and is raised.
        """
        remaining = Remaining.of(jobs, map(kind, cells))
        progress(0, len(cells), None)
        with ThreadPoolExecutor(max_workers=remaining.jobs) as pool:
            futures = {pool.submit(make, cell): cell for cell in cells}
            try:
                for finished, future in enumerate(as_completed(futures), start=1):
                    _, taken_s = future.result()
                    left_s = remaining.finish(kind(futures[future]), taken_s)
                    progress(finished, len(cells), left_s)
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
            return [future.result()[0] for future in futures]
