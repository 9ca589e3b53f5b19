"""The folder of a sweep's results.

    results/NAME/
      sweep.json                  what was swept, by which version
      runs/KEY.parquet            one row: the run is finished once this is here
      measurements/KEY.parquet    written before it
      documents/KEY.json.gz       all of a run's result, if asked for
      results.parquet             runs with their reports: made of the others
      damaged/                    files that could not be read, set aside

A run's files are written whole (`files`) and once; so what is in the folder is
true at any instant, and a sweep that was interrupted, by whatever, goes on from
it. A folder belongs to one sweep and one simulator, and to one process at a
time; nothing in it is ever deleted.
"""

import fcntl
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from narthex import _native
from narthex.errors import GUEST_FAILED, NarthexError
from narthex.files import UNFINISHED, write_whole
from narthex.identity import simulator
from narthex.sweeps import tables
from narthex.sweeps.planning import Plan, Run
from narthex.sweeps.work import Made

SCHEMA = 1
"""Of the identity and the tables."""

IDENTITY = "sweep.json"
"""What a folder holds, and by which version it was made."""

TABLES = ("measurements", "runs")
"""In the order in which a run's files are written."""

Note = Callable[[str], object]
"""Called with what the user should know."""


class Folder:
    """The results of one sweep, on disk."""

    def __init__(self, path: Path, plan: Plan, keep_documents: bool) -> None:
        self.path = path
        self._plan = plan
        self._keep_documents = keep_documents

    def finished(self, note: Note) -> dict[str, str]:
        """Return the runs that are here already, each with its status, by key.

        A file that cannot be read, or is of no run of the sweep, is set aside.
        """
        wanted = {run.key for run in self._plan.runs}
        whole: dict[str, set[str]] = {}
        status: dict[str, str] = {}
        for table in TABLES:
            whole[table] = set()
            for file in sorted((self.path / table).glob("*.parquet")):
                rows = self._read(file, table)
                if rows is None or file.stem not in wanted:
                    self._set_aside(file, note)
                    continue
                whole[table].add(file.stem)
                if table == "runs":
                    status[file.stem] = rows["status"][0]
        return {key: status[key] for key in whole["runs"] & whole["measurements"]}

    def keep(self, run: Run, made: Made) -> None:
        """Write what came of a run; it is finished when this returns."""
        frames = {
            "measurements": tables.measurement_rows(run, made),
            "runs": tables.run_row(self._plan.definition, run, made),
        }
        if self._keep_documents and made.document:
            self._write(self.path / "documents" / f"{run.key}.json.gz", made.document)
        for table in TABLES:
            self._write(self.path / table / f"{run.key}.parquet", _parquet(frames[table]))

    def results(self) -> pl.DataFrame:
        """Join all that is finished to one table, in the sweep's order; writes it too."""
        runs = [self.path / "runs" / f"{run.key}.parquet" for run in self._plan.runs]
        there = [file for file in runs if file.exists()]
        if not there:
            return pl.DataFrame(schema=tables.runs_schema(self._plan.definition))
        measurements = pl.scan_parquet([self.path / "measurements" / file.name for file in there])
        table = tables.results(pl.read_parquet(there), measurements.filter(kind="report").collect())
        self._write(self.path / "results.parquet", _parquet(table))
        return table

    def _read(self, file: Path, table: str) -> pl.DataFrame | None:
        """Return a run's file, if it is whole and that of its name."""
        definition = self._plan.definition
        schema = tables.runs_schema(definition) if table == "runs" else tables.MEASUREMENTS
        try:
            rows = pl.read_parquet(file)
        except (pl.exceptions.PolarsError, OSError):
            return None
        right = dict(rows.schema) == schema and (rows["key"] == file.stem).all()
        return rows if right and (table != "runs" or rows.height == 1) else None

    def _set_aside(self, file: Path, note: Note) -> None:
        aside = _free(self.path / "damaged" / f"{file.parent.name}-{file.name}")
        aside.parent.mkdir(exist_ok=True)
        file.rename(aside)
        note(
            f"'{file}' is damaged or not of this sweep; it is now '{aside}', its run is made again"
        )

    def _write(self, file: Path, data: bytes) -> None:
        try:
            write_whole(file, data)
        except OSError as error:
            told = f"cannot write '{file}': {error.strerror}"
            raise NarthexError(told, GUEST_FAILED) from error


@contextmanager
def opened(path: Path, plan: Plan, *, restart: bool, keep_documents: bool) -> Iterator[Folder]:
    """Open the folder for a sweep, alone; a folder of something else is refused.

    `restart` moves that folder aside and begins with an empty one.
    """
    identity = json.loads(json.dumps({
        "schema": SCHEMA,
        "version": _native.__version__,
        "simulator": simulator(),
        "sweep": plan.identity,
    }))  # fmt: skip
    if not restart:
        _check(path, identity)
    try:
        if restart and path.exists():
            path.rename(_free(path.with_name(f"{path.name}.before")))
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / "lock").open("w")
    except OSError as error:
        raise NarthexError(
            f"cannot write to the folder '{path}': {error.strerror}; choose another with --output"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise NarthexError(f"another sweep is writing to '{path}'") from error
        for unfinished in path.rglob(f"*{UNFINISHED}"):
            unfinished.unlink()  # was being written when its sweep was killed
        folder = Folder(path, plan, keep_documents)
        if not (path / IDENTITY).exists():
            text = json.dumps(identity, indent=2, ensure_ascii=False)
            folder._write(path / IDENTITY, text.encode())
        yield folder


def _check(path: Path, identity: dict[str, Any]) -> None:
    """Refuse a folder that has something else in it."""
    remedy = "choose another folder with --output, or --restart to move this one aside"
    file = path / IDENTITY
    if path.exists() and not path.is_dir():
        raise NarthexError(f"'{path}' is no folder; {remedy}")
    if not file.exists():
        if path.is_dir() and any(each.name != "lock" for each in path.iterdir()):
            raise NarthexError(f"'{path}' holds something else than a sweep's results; {remedy}")
        return
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
        differs = list(_differences(there, identity))
    except (OSError, ValueError, AttributeError) as error:
        raise NarthexError(f"'{file}' cannot be read ({error}); {remedy}") from error
    if differs:
        told = "; ".join(differs)
        raise NarthexError(f"'{path}' holds results of another sweep: {told}; {remedy}")


def _differences(there: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    """Say what distinguishes a folder's sweep from this one."""
    for key in ("schema", "version"):
        if there.get(key) != here[key]:
            yield f"{key} {there.get(key)} there, {here[key]} here"
    if there.get("version") == here["version"] and there.get("simulator") != here["simulator"]:
        yield f"another build of narthex {here['version']} there"
    swept_there, swept_here = there.get("sweep", {}), here["sweep"]
    for key in sorted(swept_there.keys() | swept_here.keys()):
        was, is_ = swept_there.get(key), swept_here.get(key)
        if was != is_:
            yield f"{key} is {_short(was)} there, {_short(is_)} here"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}..."


def _free(path: Path) -> Path:
    """Return a name beside a path that nothing has: itself, or with a number."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in range(1, sys.maxsize))
    return path if not path.exists() else next(each for each in numbered if not each.exists())


def _parquet(table: pl.DataFrame) -> bytes:
    data = BytesIO()
    table.write_parquet(data, compression="zstd")
    return data.getvalue()
