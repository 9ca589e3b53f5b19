"""What the commands share: JSON, tables, progress, errors."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import typer

from narthex import arguments, files
from narthex.cli.streams import fail
from narthex.cli.terminal import inform, is_quiet, printable, warn
from narthex.errors import NOT_WRITTEN, NarthexError

if TYPE_CHECKING:
    from narthex.programs import Program

Number = TypeVar("Number", int, float)

PATIENCE_S = 2.0
"""Work that takes no longer shows no progress."""

STDOUT = "-"

JSON_OPTION = typer.Option(
    None,
    "--json",
    metavar="FILE",
    help="Write the result as JSON, into FILE; with - to standard output, alone.",
)


LARGEST_MACHINE_BYTES = 64 << 10
"""Of a machine's file, as in the simulator."""


def machine_file(name: str) -> str:
    """Return a machine's name; what comes through a pipe is kept in a file, to be read again."""
    if not files.is_pipe(Path(name)):
        return name
    import atexit
    import tempfile

    text = files.read(Path(name), "a machine's file", LARGEST_MACHINE_BYTES)
    folder = tempfile.TemporaryDirectory(prefix="narthex-")
    atexit.register(folder.cleanup)
    kept = Path(folder.name) / "machine.toml"
    kept.write_bytes(text)
    return str(kept)


def within(name: str) -> dict[str, Any]:
    """Return the reader of an option that is a whole number, as the package checks it."""
    flag = f"--{name.replace('_', '-')}"

    def read(given: str | int) -> int:
        """Read it; what is no number is refused in the same words as one that is not allowed."""
        try:
            return arguments.whole_number(flag, int(given))
        except ValueError:
            return arguments.whole_number(flag, given)  # type: ignore[arg-type] - raises

    return {"parser": read, "metavar": "N"}


def examples(*lines: str) -> str:
    """Lay out examples for the end of a help text."""
    return "\n\n".join(["\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)])


def split_names(given: str | Iterable[str]) -> list[str]:
    """Read names with commas between them, in one text or several."""
    return arguments.separated([given] if isinstance(given, str) else given)


def read_numbers(
    option: str, given: str, kind: Callable[[str], Number], example: str
) -> list[Number]:
    """Read an option's numbers, whole ones or not, with commas between them."""
    try:
        return [kind(each) for each in given.split(",")]
    except ValueError:
        whole = "whole " if kind is int else ""
        raise NarthexError(
            f"{option} '{given}': expected {whole}numbers with commas between: {example}"
        ) from None


def only_one(command: str, interfaces: Iterable[str]) -> str:
    """Return the one interface of a command that takes one."""
    names = split_names(interfaces)
    if len(names) != 1:
        raise NarthexError(
            f"{command} takes one interface, not {len(names)}; 'narthex compare' runs a program"
            f" over several and ranks them: --interface {','.join(names) or 'NAME,NAME'}"
        )
    return names[0]


def warn_of_idle(machine: str, settings: Iterable[str], interfaces: Iterable[str]) -> None:
    """Warn of what is set and changes nothing with any of these interfaces."""
    from narthex.configuration import warnings

    asked = {"machine": machine, "set": list(settings)}
    warn(warnings.of_requests({**asked, "interface": name} for name in interfaces))


def file_of(option: str, given: str) -> str:
    """Return an option's file; refuse what is another option."""
    if given.startswith("-") and given != STDOUT:
        raise NarthexError(f"{option} takes a file, or - for standard output, not '{given}'")
    return given


class JsonTarget:
    """Where `--json` writes; made before any work, so that a bad place is found first."""

    def __init__(self, place: str | None) -> None:
        if place is not None:
            place = file_of("--json", place)
        self.wanted = place is not None
        """Whether there is a `--json` at all."""
        self.to_stdout = place == STDOUT
        """Whether standard output belongs to the document alone."""
        self._file = Path(place) if place is not None and not self.to_stdout else None
        self.is_file = self._file is not None
        """Whether the document goes to a file."""
        if self._file is not None:
            check_writable(self._file, "--json")

    def write(self, document: object) -> None:
        """Write a document, if one is wanted."""
        if not self.wanted:
            return
        from narthex import documents

        text = documents.text(document)
        if self._file is None:
            sys.stdout.write(text)
            return
        with keeping(document, self._file):
            files.write(self._file, text.encode())


@contextmanager
def keeping(document: object, file: Path) -> Iterator[None]:
    """Keep a document in another place where `file`, which is made of it, cannot be written."""
    try:
        yield
    except NarthexError as error:
        if error.exit_code != NOT_WRITTEN:
            raise
        raise _kept(error, document, file.stem) from error


def _kept(error: NarthexError, document: object, name: str) -> NarthexError:
    """Keep a document whose file cannot be written in another place; returns what to say."""
    import tempfile

    from narthex import documents
    from narthex.toolchain import cache_folder

    text = documents.text(document)
    for folder in (cache_folder() / "unwritten", Path(tempfile.gettempdir())):
        file = folder / f"{name}-{os.urandom(4).hex()}.json"
        with suppress(OSError):
            files.write_whole(file, text.encode())
            return NarthexError(f"{error}; the result is in '{file}'", error.exit_code)
    return NarthexError(f"{error}; nor can the result be kept elsewhere", error.exit_code)


def finish(*steps: Callable[[], object], problem: NarthexError | None = None) -> None:
    """Take every step, whatever becomes of the others; then raise what went wrong first.

    A `problem` came before all of them.
    """
    problems = [problem] if problem else []
    for step in steps:
        try:
            step()
        except NarthexError as error:
            problems.append(error)
    for each in problems[1:]:
        fail(str(each), each.exit_code)
    for each in problems[:1]:
        raise each


def check_writable(file: Path, option: str) -> None:
    """Refuse a file that cannot be written, without touching it; `option` named it."""
    files.check_writable(file, f"choose another place for {option}")


def check_diagram(file: Path) -> None:
    """Refuse a file that cannot hold the picture."""
    if file.suffix != ".svg":
        raise NarthexError(f"'{file}' is no picture: its name must end in .svg")
    check_writable(file, "--diagram")


class Waiting:
    """A line on standard error that says what goes on, once it takes over two seconds.

    On a terminal it is a bar, or a spinner where the end is not known; in a
    log it is a plain line every ten seconds.
    """

    LINE_EVERY_S = 10.0

    def __init__(self, what: str) -> None:
        self._what = printable(what)
        self._start = time.monotonic()
        self._last_line = self._start
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(
        self,
        detail: str,
        done: int | None = None,
        total: int | None = None,
        left_s: float | None = None,
    ) -> bool:
        """Say how far it is; returns true, so that it can be a run's observer.

        `left_s` is how long it will still take, where one knows better than by
        what has been done so far.
        """
        now = time.monotonic()
        if is_quiet() or now - self._start < PATIENCE_S:
            return True
        detail = printable(detail)
        if sys.stderr.isatty():
            self._show(detail, done, total, left_s)
        elif now - self._last_line >= self.LINE_EVERY_S or self._last_line == self._start:
            self._last_line = now
            left = _left(now - self._start, done, total, left_s)
            print(f"{self._what}: {detail}, {now - self._start:.0f} s{left}", file=sys.stderr)
        return True

    def runs(self, done: int, total: int, left_s: float | None) -> None:
        """Say how many runs are made: what a batch of them tells its progress."""
        self.update(f"{done} of {total} runs", done, total, left_s)

    def _show(self, detail: str, done: int | None, total: int | None, left_s: float | None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            parts = [
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                Elapsed(),
            ]
            parts.append(TextColumn("{task.fields[left]}", markup=False))
            self._bar = Progress(*parts, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, total=total, left="")
            self._bar.start()
        self._bar.update(
            self._task,
            description=f"{self._what}: {detail}",
            completed=done,
            total=total,
            left=_left(time.monotonic() - self._start, done, total, left_s),
        )


def _left(elapsed_s: float, done: int | None, total: int | None, left_s: float | None) -> str:
    """Say how long it will still take, where that is known."""
    if not done or not total or done == total:
        return ""
    seconds = elapsed_s * (total - done) / done if left_s is None else left_s
    return f", about {_duration(seconds)} left"


def _duration(seconds: float) -> str:
    """Say a duration as people do; under two minutes in seconds."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def compile_program(program: "Program", interface: str = "") -> None:
    """Compile a program before it runs; says so where that is slow."""
    program.elf(inform, interface)
