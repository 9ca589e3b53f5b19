"""Checks what a run needs, and says what to do where something is missing.

Each check is a function that looks at one thing and returns a `Finding`: what
it found, and the remedy where that is not what a run needs. Nothing here uses
the network or changes anything but a scratch file, and a check that fails
does not keep the others from being made.

`check_compiler` compiles and runs a program that needs no C library, because
the library itself takes a minute to compile the first time.
"""

import importlib.metadata
import locale
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from narthex.errors import NarthexError

GIB = 1 << 30
SPACE_WANTED_BYTES = GIB
"""Room for the compiler's C and C++ libraries and a study's results."""
SPACE_NEEDED_BYTES = GIB // 4
"""Room for the C library alone, which the first use of the compiler makes."""
MEMORY_WANTED_BYTES = GIB
"""Enough for every experiment that comes with Narthex, one run at a time."""
COLUMNS_WANTED = 80

_EXIT = """\
void _start(void) {
    register long status __asm__("a0") = 0, call __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(status), "r"(call));
}
"""
"""A program that ends at once, by the system call; it needs no library."""


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    """Narthex works; something is slower or less pleasant than it could be."""
    PROBLEM = "problem"
    """A run would fail."""


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    subject: str
    state: State
    found: str
    remedy: str = ""
    """What to do; empty where all is well."""

    def document(self) -> dict[str, str]:
        """Return the finding as `narthex doctor --json` writes it."""
        return {
            "subject": self.subject,
            "state": str(self.state),
            "found": self.found,
            "remedy": self.remedy,
        }


def findings() -> Iterator[Finding]:
    """Make every check, in the order in which things depend on each other."""
    for subject, check in CHECKS.items():
        yield _guarded(subject, check)


def _guarded(subject: str, check: Callable[[], tuple[State, str, str]]) -> Finding:
    try:
        return Finding(subject, *check())
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        return Finding(subject, State.PROBLEM, found, "report this with the line above")


def check_python() -> tuple[State, str, str]:
    """Check the interpreter against the version that the package asks for."""
    wanted = _metadata()["Requires-Python"]
    found = f"{platform.python_version()} (wanted: {wanted})"
    if Requirement(f"python{wanted}").specifier.contains(platform.python_version()):
        return State.OK, found, ""
    return State.PROBLEM, found, "install another Python, then `make clean setup PYTHON=python3.11`"


def check_libraries() -> tuple[State, str, str]:
    """Check every library that the package asks for, by version."""
    asked = [Requirement(text) for text in _metadata().get_all("Requires-Dist") or []]
    wanted = [each for each in asked if not each.marker or each.marker.evaluate({"extra": ""})]
    wrong = [text for each in wanted if (text := _missing(each))]
    if wrong:
        packages = " ".join(f"'{each.name}{each.specifier}'" for each in wanted if _missing(each))
        return State.PROBLEM, "; ".join(wrong), f"{sys.executable} -m pip install {packages}"
    return State.OK, ", ".join(f"{each.name} {_version(each.name)}" for each in wanted), ""


def check_extras() -> tuple[State, str, str]:
    """Check which extras are there: what frames, charts, pages and sweeps, and own C, take.

    Who measures no hardware misses nothing without `hardware`.
    """
    from narthex import extras

    lacking = {extra: extras.lacking(extra) for extra in ("compiler", "report")}
    there = [extra for extra in (*lacking, "hardware") if not extras.lacking(extra)]
    missing = [extra for extra, modules in lacking.items() if modules]
    found = ", ".join(there) or "none"
    if not missing:
        return State.OK, found, ""
    told = "; ".join(f"{extra} lacks {', '.join(lacking[extra])}" for extra in missing)
    return State.WARNING, f"{found}; {told}", extras.remedy(",".join(missing))


def _metadata() -> Any:  # noqa: ANN401 - email.message.Message in all but name
    return importlib.metadata.metadata("narthex")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _missing(wanted: Requirement) -> str:
    """Say what is wrong with a library; nothing if it is as wanted."""
    version = _version(wanted.name)
    if version is None:
        return f"{wanted.name} is missing (wanted: {wanted.specifier})"
    fits = wanted.specifier.contains(version, prereleases=True)
    return "" if fits else f"{wanted.name} is {version} (wanted: {wanted.specifier})"


def check_simulator() -> tuple[State, str, str]:
    """Check that the native module loads and is of the package's version."""
    remedy = "build it anew with `make setup`, or install the wheel again"
    try:
        from narthex import _native
    except ImportError as error:
        return State.PROBLEM, str(error), remedy
    package = _metadata()["Version"]
    if _native.__version__ != package:
        found = f"{_native.__version__}, but the Python package is {package}"
        return State.PROBLEM, found, remedy
    return State.OK, _native.__version__, ""


def check_compiler() -> tuple[State, str, str]:
    """Compile a small program for the simulated processors, and run it."""
    from narthex import compiler, guest_library, prebuilt, running, toolchain

    try:
        chosen = toolchain.find_compiler()
        with tempfile.TemporaryDirectory() as scratch:
            program = compiler.compile_bare(_EXIT, Path(scratch) / "exit", chosen)
            running.run(str(program), nodes=1)
    except NarthexError as error:
        if prebuilt.ARCHIVE.is_file():
            return State.WARNING, f"{error}; programs that come with Narthex run", toolchain.REMEDY
        return State.PROBLEM, str(error), toolchain.REMEDY
    found = chosen.version.splitlines()[0]
    if not guest_library.library_is_compiled(chosen):
        found += "; its first use for a program compiles the C library, about a minute"
    if chosen.notice:
        found += f"; {chosen.notice}"
    return State.OK, found, ""


def check_cache() -> tuple[State, str, str]:
    """Check that the folder of compiled programs can be written to; tell its size."""
    from narthex.toolchain import cache_folder

    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        remedy = "set NARTHEX_CACHE to a folder you may write to"
        return State.PROBLEM, f"{folder}: {error.strerror}", remedy
    return State.OK, f"{folder}: {_size(_bytes_below(folder))} (may be deleted at any time)", ""


def _bytes_below(folder: Path) -> int:
    """Add up the sizes of the files below a folder, as far as they can be seen."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except OSError:  # deleted meanwhile
                continue
    return total


def check_space() -> tuple[State, str, str]:
    """Check the free space where the cache is."""
    from narthex.toolchain import cache_folder

    place = cache_folder().absolute()
    while not place.is_dir():
        place = place.parent
    free = shutil.disk_usage(place).free
    remedy = "make room there, or set NARTHEX_CACHE to a folder on a larger disk"
    return _enough(free, SPACE_WANTED_BYTES, SPACE_NEEDED_BYTES, f"free at {place}", remedy)


def check_memory() -> tuple[State, str, str]:
    """Check the memory that is not in use."""
    remedy = "end other programs, or simulate fewer nodes at a time (--nodes, --jobs)"
    return _enough(_free_memory_bytes(), MEMORY_WANTED_BYTES, GIB // 4, "available", remedy)


def _free_memory_bytes() -> int:
    """Return what the system says is available, of the control group if that has less."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) << 10
    limit, used = _lines("/sys/fs/cgroup/memory.max"), _lines("/sys/fs/cgroup/memory.current")
    if limit and used and limit[0].isdigit():
        free = min(free, int(limit[0]) - int(used[0]))
    return free


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def _enough(
    there_bytes: int, wanted_bytes: int, needed_bytes: int, where: str, remedy: str
) -> tuple[State, str, str]:
    found = f"{_size(there_bytes)} {where}"
    if there_bytes >= wanted_bytes:
        return State.OK, found, ""
    state = State.WARNING if there_bytes >= needed_bytes else State.PROBLEM
    return state, f"{found}; {_size(wanted_bytes)} are wanted", remedy


def _size(count_bytes: int) -> str:
    if count_bytes >= GIB:
        return f"{count_bytes / GIB:.1f} GiB"
    return f"{count_bytes / (1 << 20):.0f} MiB"


def check_processors() -> tuple[State, str, str]:
    """Count the processors that this process may use."""
    count = len(os.sched_getaffinity(0))
    if count == 1:
        remedy = "sweeps and experiments make one run at a time; nothing has to be done"
        return State.WARNING, "1: --threads and --jobs make nothing faster", remedy
    return State.OK, f"{count}: --threads {count} for one large run, --jobs {count} for a sweep", ""


def check_terminal() -> tuple[State, str, str]:
    """Check that tables can be printed: characters beyond ASCII, and room for columns."""
    encoding = sys.stdout.encoding or locale.getpreferredencoding(do_setlocale=False)
    try:
        "─±".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return State.PROBLEM, f"{encoding} cannot show tables", "export PYTHONIOENCODING=utf-8"
    if not sys.stdout.isatty():
        return State.OK, f"none (output goes to a file or a pipe), {encoding}", ""
    columns = shutil.get_terminal_size().columns
    found = f"{columns} columns, {encoding}"
    if columns < COLUMNS_WANTED:
        return State.WARNING, found, f"widen the window to {COLUMNS_WANTED} columns or more"
    return State.OK, found, ""


CHECKS: dict[str, Callable[[], tuple[State, str, str]]] = {
    "Python": check_python,
    "libraries": check_libraries,
    "extras": check_extras,
    "simulator": check_simulator,
    "RISC-V compiler": check_compiler,
    "cache": check_cache,
    "disk space": check_space,
    "memory": check_memory,
    "processors": check_processors,
    "terminal": check_terminal,
}
"""What is looked at, by the name that the table gives it."""
