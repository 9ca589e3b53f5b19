"""The folder of a sweep's results.

    results/NAME/
      sweep.json                  what was swept, by which version
      runs/KEY.parquet            one row: the run is finished once this is here
      measurements/KEY.parquet    written before it
      documents/KEY.json.gz       all of a run's result, if asked for
      errors/KEY.txt              what a run that failed said, where that is more than a line
      results.parquet             runs with their reports: made of the others
      damaged/                    files that could not be read, set aside

A run's files are written whole (`files`) and once; so what is in the folder is
true at any instant, and a sweep that was interrupted, by whatever, goes on from
it. What is damaged nevertheless is found by its checksum (`seals`), set aside
and made again; a damaged sweep.json is written again, where the runs' keys say
that they are this sweep's. A folder belongs to one sweep and one simulator, and
to one process at a time; nothing in it is ever deleted.
"""

import fcntl
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from narthex import _native, seals
from narthex.errors import GUEST_FAILED, Caution, NarthexError
from narthex.extras import polars as pl
from narthex.files import UNFINISHED, write_whole
from narthex.identity import simulator
from narthex.packed import unpacked
from narthex.sweeps import tables
from narthex.sweeps.planning import Plan, Run
from narthex.sweeps.work import Made

SCHEMA = 2
"""Of the identity and the tables."""

IDENTITY = "sweep.json"
"""What a folder holds, and by which version it was made."""

NAMES = ("title", "labels")
"""Of what a folder holds: what pages call it and its parameters; they decide no run."""

TABLES = ("measurements", "runs")
"""In the order in which a run's files are written."""

OTHERS = ("documents", "errors", "results.parquet", "damaged", "lock", IDENTITY)
"""What else a folder has."""

_MADE_AGAIN = "is damaged or not of this sweep, and its run is made again"

REMEDY = "choose another folder with --output, or --restart to move this one aside"

Note = Callable[[str], object]
"""Called with what the user should know."""


def run_file(path: Path, table: str, key: str) -> Path:
    """Return where the rows of a run are in the folder `path`."""
    return path / table / f"{key}.parquet"


def is_finished(path: Path, key: str) -> bool:
    """Say whether all rows of a run are in the folder `path`."""
    return all(run_file(path, table, key).exists() for table in TABLES)


def errors_file(path: Path, key: str) -> Path:
    """Return where the whole error of a run is, if it has more than a line."""
    return path / "errors" / f"{key}.txt"


class Folder:
    """The results of one sweep, on disk."""

    def __init__(self, path: Path, plan: Plan, keep_documents: bool) -> None:
        self.path = path
        self._plan = plan
        self._keep_documents = keep_documents

    def finished(self, note: Note) -> dict[str, str]:
        """Return the runs that are here already, each with its status, by key.

        A file that is damaged, or of no run of the sweep, is set aside.
        """
        wanted = {run.key for run in self._plan.runs}
        status: dict[str, str] = {}
        whole: dict[str, set[str]] = {}
        for table in TABLES:
            whole[table] = set()
            for file in sorted((self.path / table).glob("*.parquet")):
                rows = self._read(file)
                if rows is None or file.stem not in wanted:
                    self._set_aside(file, note)
                    continue
                whole[table].add(file.stem)
                if table == "runs":
                    status[file.stem] = rows["status"][0]
        lost = self._damaged_documents(note)
        return {key: status[key] for key in set.intersection(*whole.values()) - lost}

    def keep(self, run: Run, made: Made) -> None:
        """Write what came of a run; it is finished when this returns."""
        frames = {
            "measurements": tables.measurement_rows(run, made),
            "runs": tables.run_row(self._plan.definition, run, made),
        }
        if self._keep_documents and made.document:
            self._write(self.path / "documents" / f"{run.key}.json.gz", made.document)
        if "\n" in made.error:
            self._write(errors_file(self.path, run.key), f"{made.error}\n".encode())
        for table in TABLES:
            self._write_table(run_file(self.path, table, run.key), frames[table])

    def results(self) -> pl.DataFrame:
        """Join all that is finished to one table, in the sweep's order; writes it too."""
        there = [run for run in self._plan.runs if is_finished(self.path, run.key)]
        if not there:
            return pl.DataFrame(schema=tables.runs_schema(self._plan.definition))
        runs = pl.concat([self._kept(run, "runs") for run in there])
        reports = [self._kept(run, "measurements").filter(kind="report") for run in there]
        table = tables.results(runs, pl.concat(reports))
        self._write_table(self.path / "results.parquet", table)
        return table

    def identify(self, identity: dict[str, Any], note: Note) -> None:
        """Write what the folder holds, unless that is there; a damaged file of it is set aside.

        What names it alone is written anew where the sweep's file names it otherwise by now.
        """
        file = self.path / IDENTITY
        there = _identity(file)
        names = {key: identity[key] for key in NAMES}
        if there is not None and names.items() <= there.items():
            return
        if there is None and file.exists():
            self._set_aside(file, note, "is damaged and written again; the runs are this sweep's")
        sealed = {**(there or identity), **names, "seal": seals.BLANK}
        text = json.dumps(sealed, indent=2, ensure_ascii=False)
        self._write(file, seals.seal(IDENTITY, text.encode()))

    def _kept(self, run: Run, table: str) -> pl.DataFrame:
        file = run_file(self.path, table, run.key)
        rows = self._read(file)
        if rows is None:
            raise NarthexError(f"'{file}' was damaged while the sweep went on", GUEST_FAILED)
        return rows

    def _read(self, file: Path) -> pl.DataFrame | None:
        """Return a run's file of a table, if it is whole and that of its name."""
        is_run = file.parent.name == "runs"
        schema = tables.runs_schema(self._plan.definition) if is_run else tables.MEASUREMENTS
        try:
            data = file.read_bytes()
            rows = pl.read_parquet(BytesIO(data)) if seals.is_whole(_name(file), data) else None
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return None
        return None if rows is None or dict(rows.schema) != schema else rows

    def _damaged_documents(self, note: Note) -> set[str]:
        """Set damaged documents aside, if any are to be kept; returns their runs' keys."""
        files = (self.path / "documents").glob("*.json.gz") if self._keep_documents else ()
        damaged = [file for file in sorted(files) if not _is_document(file)]
        for file in damaged:
            self._set_aside(file, note)
        return {file.name.partition(".")[0] for file in damaged}

    def _set_aside(self, file: Path, note: Note, told: str = _MADE_AGAIN) -> None:
        aside = _free(self.path / "damaged" / f"{file.parent.name}-{file.name}")
        with _writing(aside):
            aside.parent.mkdir(exist_ok=True)
            file.rename(aside)
        note(Caution(f"'{file}' {told}; it is now '{aside}'"))

    def _write_table(self, file: Path, table: pl.DataFrame) -> None:
        data = BytesIO()
        table.write_parquet(data, compression="zstd", metadata={"narthex": seals.BLANK})
        self._write(file, seals.seal(_name(file), data.getvalue()))

    def _write(self, file: Path, data: bytes) -> None:
        with _writing(file):
            write_whole(file, data)


@contextmanager
def opened(
    path: Path, plan: Plan, *, restart: bool, keep_documents: bool, note: Note = print
) -> Iterator[Folder]:
    """Open the folder for a sweep, alone; a folder of something else is refused.

    `restart` moves that folder aside and begins with an empty one.
    """
    identity = json.loads(json.dumps({
        "schema": SCHEMA,
        "version": _native.__version__,
        "simulator": simulator(),
        "sweep": plan.identity,
        "title": plan.definition.title,
        "labels": {axis.column: axis.label for axis in plan.definition.axes},
    }))  # fmt: skip
    try:
        if not restart:
            _check(path, identity, plan)
        elif path.exists():
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
            with _writing(unfinished):
                unfinished.unlink()  # was being written when its sweep was killed
        folder = Folder(path, plan, keep_documents)
        folder.identify(identity, note)
        yield folder


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Tell which file cannot be written."""
    try:
        yield
    except OSError as error:
        raise NarthexError(f"cannot write '{file}': {error.strerror}", GUEST_FAILED) from error


def _check(path: Path, identity: dict[str, Any], plan: Plan) -> None:
    """Refuse a folder that has something else in it."""
    if path.exists() and not path.is_dir():
        raise NarthexError(f"'{path}' is no folder; {REMEDY}")
    there = _identity(path / IDENTITY)
    if there is None:
        _check_files(path, plan)
        return
    differs = list(_differences(there, identity))
    if differs:
        told = "; ".join(differs)
        raise NarthexError(f"'{path}' holds results of another sweep: {told}; {REMEDY}")


def _identity(file: Path) -> dict[str, Any] | None:
    """Return what a folder holds; nothing if it does not say so, or its file is damaged."""
    try:
        return identity_of(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NarthexError(f"cannot read '{file}': {error.strerror}; {REMEDY}") from error


def identity_of(data: bytes) -> dict[str, Any] | None:
    """Return what a file's bytes say that a folder holds; nothing if they are damaged."""
    try:
        there = json.loads(data)
    except (ValueError, RecursionError):
        return None
    damaged = seals.is_sealed(data) and not seals.is_whole(IDENTITY, data)
    return there if isinstance(there, dict) and not damaged else None


def _check_files(path: Path, plan: Plan) -> None:
    """Refuse a folder that does not say what it holds, unless all of it is of this sweep."""
    keys = {run.key for run in plan.runs}
    for each in sorted(path.iterdir()) if path.exists() else ():
        if each.name not in (*TABLES, *OTHERS) and not each.name.endswith(UNFINISHED):
            raise NarthexError(f"'{path}' holds something else than a sweep's results; {REMEDY}")
        strangers = [file for file in each.glob("*.parquet") if file.stem not in keys]
        if each.name in TABLES and strangers:
            raise NarthexError(
                f"'{path / IDENTITY}' is damaged or missing, and '{strangers[0]}' is a run of"
                f" another sweep; {REMEDY}"
            )


def _differences(there: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    """Say what distinguishes a folder's sweep from this one."""
    for key in ("schema", "version"):
        if there.get(key) != here[key]:
            yield f"{key} {there.get(key)} there, {here[key]} here"
    if there.get("version") == here["version"] and there.get("simulator") != here["simulator"]:
        yield f"another build of narthex {here['version']} there"
    swept_there, swept_here = there.get("sweep"), here["sweep"]
    swept_there = swept_there if isinstance(swept_there, dict) else {}
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


def _is_document(file: Path) -> bool:
    try:
        return unpacked(file.read_bytes()) is not None
    except OSError:
        return False


def _name(file: Path) -> str:
    """Return a table's name in its folder, by which it is sealed."""
    return f"{file.parent.name}/{file.name}"
