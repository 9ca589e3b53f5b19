"""Compiles guests: C and C++ programs for the simulated RISC-V processors.

The compiler is PyPI's `ziglang`, a plain dependency that needs no root and
brings C and C++ libraries (musl, libc++) along; the environment variable `CC`
names another one, for example `riscv64-linux-gnu-gcc`. A guest is a static ELF
file. Its messaging library and runtime are compiled once for a compiler and
its flags and kept in the cache folder, as are the programs that come with
Narthex; the key is a hash of all that goes in, so that nothing stale is used.

The cache folder is `$NARTHEX_CACHE`, or `~/.cache/narthex`. Zig keeps its own
cache in it: its first use compiles the C library, which takes about a minute.
"""

import hashlib
import importlib.metadata
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from narthex import files
from narthex.assets import GUEST
from narthex.errors import NarthexError, unknown

Progress = Callable[[str], object]
"""Called with one line of text when something slow begins."""

SOURCE_SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
CXX_SUFFIXES = (".cc", ".cpp", ".cxx")

_TARGET = (
    "--target=riscv64-linux-musl",
    "-mcpu=generic_rv64+m+a+f+d+c",
    "-mabi=lp64d",
    # Other functions keep frame pointers, which lead from an error to its callers.
    "-momit-leaf-frame-pointer",
)
_FLAGS = ("-O2", "-g", "-static")
_STARTS_THREADS = b"\0pthread_create\0"
"""What stands in the table of symbols of a program that starts threads."""
_ALLOCATOR = ("malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "free")
_THREADS_FLAGS = tuple(f"-Wl,--wrap={function}" for function in _ALLOCATOR)
"""They let threads allocate one by one: see guest/runtime/thread_allocator.c."""
_FIRMWARE_FLAGS = (
    *("-O2", "-g", "-static", "-ffreestanding", "-nostdlib", "-mcmodel=medany"),
    *("-fno-omit-frame-pointer", "-momit-leaf-frame-pointer"),
)
_FIRMWARE_TARGET = ("--target=riscv64-freestanding-none", "-mcpu=generic_rv64+m+a+c+zicsr")
"""Without floating point: an interrupt has fewer registers to save."""
_FIRMWARE_MACHINE = ("-march=rv64imac_zicsr", "-mabi=lp64")
"""The same for a compiler that CC names."""

REMEDY = (
    "install the one that Narthex uses with `python -m pip install ziglang`, or set CC to a "
    "RISC-V compiler, for example CC=riscv64-linux-gnu-gcc"
)
"""What to do where there is no compiler that works."""


@dataclass(frozen=True)
class Compiler:
    """A C and C++ cross compiler: how it and its archiver are called."""

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    archiver: tuple[str, ...]
    version: str
    firmware: tuple[str, ...] = ()
    """The C driver for processors without a system."""

    def command(self, sources: Iterable[Path]) -> tuple[str, ...]:
        """Return the driver for the sources: C++ if one of them is."""
        return self.cxx if any(source.suffix in CXX_SUFFIXES for source in sources) else self.c


def cache_folder() -> Path:
    """Return the folder for compiled libraries and programs."""
    named = os.environ.get("NARTHEX_CACHE")
    try:
        return Path(named).expanduser() if named else Path.home() / ".cache" / "narthex"
    except RuntimeError as error:
        place = f"the environment's NARTHEX_CACHE is '{named}'" if named else "there is no HOME"
        raise NarthexError(f"{place}: {error} Set NARTHEX_CACHE to a folder.") from error


def find_compiler(command: str | None = None) -> Compiler:
    """Return the compiler `command`, else that of `CC`, else ziglang."""
    command = command or os.environ.get("CC")
    try:
        words = shlex.split(command) if command else None
    except ValueError as error:
        raise NarthexError(f"CC is '{command}': {error}; {REMEDY}") from error
    return _zig() if words is None else _named_compiler(words)


def compile_program(
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    extra_flags: Sequence[str] = (),
    compiler: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Compile C and C++ sources with the messaging library to the ELF file `output`.

    The language follows each file's suffix. `extra_flags` are passed on to the
    compiler, after its usual ones. The file appears whole or not at all.

    >>> from pathlib import Path
    >>> import narthex
    >>> _ = Path("first.c").write_text("int main(void) { return 0; }")
    >>> narthex.compile("first.c", "first").name
    'first'

    Raises `NarthexError` with the compiler's own words when a source is wrong.
    """
    paths = [Path(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
    _check_sources(paths)
    chosen = find_compiler(compiler)
    library = _library(chosen, progress)
    _say(progress, f"compiling {', '.join(path.name for path in paths)}")
    return _link(chosen, paths, Path(output), library, extra_flags)


compile = compile_program  # noqa: A001 - `narthex.compile` in Python


def compile_firmware(
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    extra_flags: Sequence[str] = (),
    compiler: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Compile C sources as firmware, for a processor without a system (docs/firmware.md).

    It is linked where guest/firmware/firmware.ld says, with the start-up of
    guest/firmware/runtime, and without a C library. `extra_flags` go to the compiler.
    """
    paths = [Path(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
    _check_sources(paths)
    if cxx := [path for path in paths if path.suffix in CXX_SUFFIXES]:
        raise NarthexError(f"'{cxx[0]}' is C++, which firmware has no library for; write it in C")
    chosen = find_compiler(compiler)
    _say(progress, f"compiling {', '.join(path.name for path in paths)}")
    return _link_firmware(chosen, paths, Path(output), extra_flags)


def firmware_names() -> list[str]:
    """Return the names of the firmware that comes with Narthex."""
    return sorted(_firmware())


def firmware_path(
    name: str, *, compiler: str | None = None, progress: Progress | None = None
) -> Path:
    """Return the ELF file of firmware that comes with Narthex, compiled if need be."""
    firmware = _firmware()
    if name not in firmware:
        raise unknown("firmware", name, firmware)
    chosen = find_compiler(compiler)
    inputs = [*firmware[name], *_firmware_runtime(), FIRMWARE_SCRIPT, *_headers()]
    output = cache_folder() / "firmware" / _key(chosen, inputs) / name
    if not output.exists():
        _say(progress, f"compiling firmware {name}")
        _make_folder(output.parent)
        _link_firmware(chosen, firmware[name], output, ())
    return output


FIRMWARE_SCRIPT = GUEST / "firmware" / "firmware.ld"
"""Where firmware lies in its memory."""


def _firmware() -> dict[str, list[Path]]:
    """Map each shipped firmware to its sources: a folder each."""
    folders = [each for each in sorted((GUEST / "firmware").iterdir()) if each.name != "runtime"]
    found = {folder.name: _sources_in(folder) for folder in folders}
    return {name: sources for name, sources in found.items() if sources}


def _firmware_runtime() -> list[Path]:
    return _sources_in(GUEST / "firmware" / "runtime")


def _link_firmware(
    compiler: Compiler, sources: Sequence[Path], output: Path, extra_flags: Sequence[str]
) -> Path:
    """Compile and link into a scratch folder, then write the firmware into its place."""
    _make_folder(output.parent)
    files.check_writable(output, "choose another place for the firmware")
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        unfinished = Path(scratch) / "firmware"
        names = [str(source.resolve()) for source in [*sources, *_firmware_runtime()]]
        command = [*compiler.firmware, *_FIRMWARE_FLAGS, *_includes(), *extra_flags, *names]
        _run([*command, "-T", str(FIRMWARE_SCRIPT), "-o", str(unfinished)], None)
        files.write(output, unfinished.read_bytes(), mode=0o777)
    return output


def program_names() -> list[str]:
    """Return the names of the programs that come with Narthex."""
    return sorted(_programs())


def program_path(
    name: str, *, compiler: str | None = None, progress: Progress | None = None
) -> Path:
    """Return the ELF file of a program that comes with Narthex, compiled if need be."""
    programs = _programs()
    if name not in programs:
        raise unknown("program", name, programs)
    chosen = find_compiler(compiler)
    inputs = [*programs[name], *_headers()]
    output = cache_folder() / "programs" / _key(chosen, [*inputs, *_library_sources()]) / name
    if not output.exists():
        library = _library(chosen, progress)
        _say(progress, f"compiling {name}")
        _make_folder(output.parent)
        _link(chosen, programs[name], output, library, ())
    return output


def compile_bare(source: str, output: Path, compiler: Compiler) -> Path:
    """Compile C text that needs no library and begins at `_start`."""
    file = output.with_suffix(".c")
    file.write_text(source, encoding="utf-8")
    _run([*compiler.c, *_FLAGS, "-nostdlib", str(file), "-o", str(output)], None)
    return output


def library_is_compiled(compiler: Compiler) -> bool:
    """Tell whether the messaging library, and so the C library, is in the cache."""
    return _archive(compiler).exists()


def _programs() -> dict[str, list[Path]]:
    """Map each shipped program to its sources: a folder each, in tests/ a file each."""
    folder = GUEST / "programs"
    programs = {source.stem: [source] for source in _sources_in(folder / "tests")}
    for entry in sorted(folder.iterdir()):
        sources = _sources_in(entry)
        if sources and entry.name != "tests":
            programs[entry.name] = sources
    return programs


def _sources_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix in SOURCE_SUFFIXES)


def _headers() -> list[Path]:
    return sorted([*GUEST.rglob("*.h"), *GUEST.rglob("*.def")])


def _library_sources() -> list[Path]:
    folders = ("runtime", "messaging", "shared_memory", "via", "voyager")
    return [source for folder in folders for source in _sources_in(GUEST / folder)]


def _key(compiler: Compiler, inputs: Iterable[Path]) -> str:
    """Hash everything that decides what is compiled."""
    digest = hashlib.sha256(repr((compiler, _FLAGS)).encode())
    for path in inputs:
        digest.update(f"\0{path.relative_to(GUEST)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def _archive(compiler: Compiler) -> Path:
    key = _key(compiler, [*_library_sources(), *_headers()])
    return cache_folder() / "library" / key / "libnarthex.a"


def _library(compiler: Compiler, progress: Progress | None) -> Path:
    """Return the static archive of runtime and messaging, compiled if need be."""
    sources, archive = _library_sources(), _archive(compiler)
    if archive.exists():
        return archive
    _say(progress, "compiling the messaging library (the first time takes about a minute)")
    _make_folder(archive.parent)
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        objects = [str(Path(scratch) / f"{source.stem}.o") for source in sources]
        for source, target in zip(sources, objects, strict=True):
            _run([*compiler.c, *_FLAGS, *_includes(), "-c", _relative(source), "-o", target], GUEST)
        unfinished = Path(scratch) / archive.name
        _run([*compiler.archiver, "rcs", str(unfinished), *objects], GUEST)
        unfinished.replace(archive)
    return archive


def _link(
    compiler: Compiler,
    sources: Sequence[Path],
    output: Path,
    library: Path,
    extra_flags: Sequence[str],
) -> Path:
    """Compile and link into a scratch folder, then write the program into its place."""
    _make_folder(output.parent)
    files.check_writable(output, "choose another place for the program")
    shipped = all(source.is_relative_to(GUEST) for source in sources)
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        unfinished = Path(scratch) / "program"
        names = [_relative(source) if shipped else str(source) for source in sources]
        command = [*compiler.command(sources), *_FLAGS, *_includes(), *extra_flags, *names]
        command += [str(library.absolute()), "-lm", "-o", str(unfinished)]
        _run(command, GUEST if shipped else None)
        if _STARTS_THREADS in unfinished.read_bytes():
            _run([*command, *_THREADS_FLAGS], GUEST if shipped else None)
        files.write(output, unfinished.read_bytes(), mode=0o777)
    return output


def _includes() -> list[str]:
    """Return the flags that find the headers and keep this machine's paths out of the ELF file."""
    root = GUEST.resolve()
    # The folder of the compilation is 'guest'; headers lie below it, and are named from there.
    paths = [f"-ffile-prefix-map={root}=guest", f"-ffile-prefix-map={root}/="]
    return [f"-I{root}", f"-I{root / 'messaging'}", *paths]


def _relative(source: Path) -> str:
    return str(source.relative_to(GUEST))


def _check_sources(paths: Sequence[Path]) -> None:
    if not paths:
        raise NarthexError("there is nothing to compile: name one C or C++ source file or more")
    for path in paths:
        if not path.is_file():
            raise NarthexError(f"there is no source file '{path}'")
        if path.suffix not in SOURCE_SUFFIXES:
            suffixes = ", ".join(SOURCE_SUFFIXES)
            raise NarthexError(f"'{path}' is not a C or C++ source file (allowed: {suffixes})")


def _zig() -> Compiler:
    try:
        version = importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        raise NarthexError(
            f"there is no compiler: the package ziglang is missing; {REMEDY}"
        ) from None
    zig = (sys.executable, "-m", "ziglang")
    return Compiler(
        (*zig, "cc", *_TARGET),
        (*zig, "c++", *_TARGET),
        (*zig, "ar"),
        f"ziglang {version}",
        (*zig, "cc", *_FIRMWARE_TARGET),
    )


def _named_compiler(words: Sequence[str]) -> Compiler:
    """Return a compiler given by its command, such as `riscv64-linux-gnu-gcc -static`."""
    if not words:
        raise NarthexError(f"CC is blank; {REMEDY}")
    program, *flags = words
    version = _run([program, "--version"], None)
    archiver = _run([program, "-print-prog-name=ar"], None).strip() or "ar"
    flags = ["-fno-math-errno", *flags]
    c = (program, *flags)
    bare = (*c, *_FIRMWARE_MACHINE)
    return Compiler(c, (_cxx_beside(program), *flags), (archiver,), version, bare)


def _cxx_beside(program: str) -> str:
    """Return the C++ driver that belongs to a C driver, or `CXX`."""
    if named := os.environ.get("CXX"):
        return named
    folder, name = os.path.split(program)
    for c, cxx in (("gcc", "g++"), ("clang", "clang++")):
        if c in name and cxx not in name:
            return os.path.join(folder, name.replace(c, cxx, 1))
    return program


def _run(command: Sequence[str], folder: Path | None) -> str:
    """Run a compiler's command and return what it printed; its errors are the user's."""
    zig_cache = str(cache_folder().absolute() / "zig")
    environment = os.environ | {
        "ZIG_GLOBAL_CACHE_DIR": zig_cache,
        "ZIG_LOCAL_CACHE_DIR": zig_cache,
    }
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
            check=False,
        )  # fmt: skip
    except OSError as error:
        raise NarthexError(
            f"cannot run the compiler '{command[0]}' ({error.strerror}); {REMEDY}"
        ) from error
    if done.returncode != 0:
        raise NarthexError((done.stderr or done.stdout).strip() or f"'{command[0]}' failed")
    return done.stdout


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NarthexError(
            f"cannot make the folder {folder} ({error.strerror}); "
            "set NARTHEX_CACHE to a folder you may write to"
        ) from error


def _say(progress: Progress | None, text: str) -> None:
    if progress:
        progress(text)
