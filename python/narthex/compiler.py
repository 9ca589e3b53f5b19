"""Compiles guests: C and C++ programs for the simulated RISC-V processors.

`toolchain` finds the compiler. A guest is a static ELF file. Its messaging library and
runtime are compiled once for a compiler and its flags and kept in the cache folder, as are the
programs that come with Narthex; the key is a hash of all that goes in, so that nothing stale is
used. A wheel brings these programs compiled (`prebuilt`). The first use of ziglang compiles the
C library, which takes about a minute, the first C++ program its C++ library, which takes two.
"""

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from narthex import files, prebuilt
from narthex.assets import GUEST
from narthex.drivers import (
    MOST_INTERFACES,
    driver_apart,
    flags_of_programs,
)
from narthex.errors import NarthexError, unknown
from narthex.guest_library import (
    FLAGS,
    SOURCE_SUFFIXES,
    STATIC,
    headers,
    includes,
    key_of,
    library_sources,
    linked,
    relative,
    say,
    sources_in,
)
from narthex.toolchain import (
    CXX_SUFFIXES,
    OWN_VARIABLE,
    Compiler,
    Progress,
    cache_folder,
    cached,
    find_compiler,
    run,
    uses_ziglang,
)

log = logging.getLogger(__name__)

OBJECT_SUFFIXES = (".o", ".a")
"""What other compilers have made for the same target, Rust's for example."""

_STARTS_THREADS = b"\0pthread_create\0"
"""What stands in the table of symbols of a program that starts threads."""
_ALLOCATOR = ("malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "free")
_THREADS_FLAGS = tuple(f"-Wl,--wrap={function}" for function in _ALLOCATOR)
"""They let threads allocate one by one: see guest/runtime/thread_allocator.c."""
_FIRMWARE_FLAGS = (
    *("-O2", "-g", "-static", "-ffreestanding", "-nostdlib", "-mcmodel=medany"),
    *("-fno-omit-frame-pointer", "-momit-leaf-frame-pointer"),
)


@dataclass(frozen=True)
class Flags:
    """What compiles and links a guest, each as the words of a command."""

    c: Sequence[str]
    """The C compiler with the flags that choose its target."""
    cxx: Sequence[str]
    archiver: Sequence[str]
    """Takes `qc LIBRARY OBJECTS`, as `ar` does."""
    compile: Sequence[str]
    """Flags of every compilation."""
    link: Sequence[str]
    """Flags of every link."""
    libraries: Sequence[str]
    """What stands behind the objects of a link."""
    threads: Sequence[str]
    """Flags of a link, too, where the program starts threads."""


def compile_program(
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    extra_flags: Sequence[str] = (),
    interface: str = MOST_INTERFACES,
    compiler: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Compile C and C++ sources with the messaging library to the ELF file `output`.

    The language follows each file's suffix; objects and archives are linked in. `extra_flags`
    are passed on to the compiler, after its usual ones. The program runs over every interface but
    SARC, Voyager's queues and PcieBench. If `interface` is one of DRIVERS_APART, it is linked for
    that and those that share its driver. The file appears whole or not at all.

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
    driver = driver_apart(interface)
    library = linked(chosen, driver, progress)
    flags = [*flags_of_programs(driver), *extra_flags]
    _announce(progress, chosen, f"compiling {', '.join(path.name for path in paths)}")
    return _link(chosen, paths, Path(output), library, flags, progress)


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
    _announce(progress, chosen, f"compiling {', '.join(path.name for path in paths)}")
    return _link_firmware(chosen, paths, Path(output), extra_flags, progress)


def guest_flags(interface: str = MOST_INTERFACES, progress: Progress | None = None) -> Flags:
    """Return what compiles and links a guest, for a build system; see `build_systems`."""
    chosen = find_compiler()
    driver = driver_apart(interface)
    libraries = [str(each.absolute()) for each in linked(chosen, driver, progress)]
    flags = [*(flag for flag in FLAGS if flag != STATIC), *flags_of_programs(driver)]
    return Flags(
        c=chosen.c,
        cxx=chosen.cxx,
        archiver=chosen.archiver,
        compile=[*flags, *includes()],
        link=[STATIC],
        libraries=[*libraries, "-lm"],
        threads=_THREADS_FLAGS,
    )


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
    if ready := _prebuilt(compiler, member("firmware", None, name)):
        return ready
    chosen = find_compiler(compiler)
    inputs = [*firmware[name], *_firmware_runtime(), FIRMWARE_SCRIPT, *headers()]
    output = cache_folder() / "firmware" / key_of(chosen, inputs) / name
    if not output.exists():
        _announce(progress, chosen, f"compiling firmware {name}")
        with cached(output.parent):
            _link_firmware(chosen, firmware[name], output, ())
    return output


FIRMWARE_SCRIPT = GUEST / "firmware" / "firmware.ld"
"""Where firmware lies in its memory."""


def _firmware() -> dict[str, list[Path]]:
    """Map each shipped firmware to its sources: a folder each.

    The folder of a variant, `NAME-VARIANT`, has those of its sources that differ from NAME's.
    """
    folders = [each for each in sorted((GUEST / "firmware").iterdir()) if each.name != "runtime"]
    found = {folder.name: {each.name: each for each in sources_in(folder)} for folder in folders}
    return {
        name: list({**found.get(name.partition("-")[0], {}), **own}.values())
        for name, own in found.items()
        if own
    }


def _firmware_runtime() -> list[Path]:
    return sources_in(GUEST / "firmware" / "runtime")


def _link_firmware(
    compiler: Compiler,
    sources: Sequence[Path],
    output: Path,
    extra_flags: Sequence[str],
    progress: Progress | None = None,
) -> Path:
    """Compile and link into a scratch folder, then write the firmware into its place."""
    _make_folder(output.parent)
    files.check_writable(output, "choose another place for the firmware")
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        unfinished = Path(scratch) / "firmware"
        names = [str(source.resolve()) for source in [*sources, *_firmware_runtime()]]
        command = [*compiler.firmware, *_FIRMWARE_FLAGS, *includes(), *extra_flags, *names]
        run([*command, "-T", str(FIRMWARE_SCRIPT), "-o", str(unfinished)], None, progress)
        files.write(output, unfinished.read_bytes(), mode=0o777)
    return output


def program_names() -> list[str]:
    """Return the names of the programs that come with Narthex."""
    return sorted(_programs())


def program_path(
    name: str,
    *,
    interface: str = "",
    compiler: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return the ELF file of a program that comes with Narthex, compiled if need be.

    It is the one for `interface`, where that has a driver apart.
    """
    programs = _programs()
    if name not in programs:
        raise unknown("program", name, programs)
    driver = driver_apart(interface)
    if ready := _prebuilt(compiler, member("programs", driver, name)):
        return ready
    chosen = find_compiler(compiler)
    inputs = [*programs[name], *headers()]
    key = key_of(chosen, [*inputs, *library_sources()])
    output = cache_folder() / "programs" / key / (driver or "") / name
    log.debug("%s%s", output, "" if output.exists() else ": to be compiled")
    if not output.exists():
        library = linked(chosen, driver, progress)
        _announce(progress, chosen, f"compiling {name}")
        with cached(output.parent):
            _link(chosen, programs[name], output, library, flags_of_programs(driver))
    return output


def member(kind: str, driver: str | None, name: str) -> str:
    """Return where a compiled program is, below its key in the cache or in a wheel's archive."""
    return "/".join((kind, driver or "all", name))


def sources_hash() -> str:
    """Hash all that the programs and firmware that come with Narthex are compiled of."""
    programs = [source for sources in _programs().values() for source in sources]
    firmware = [source for sources in _firmware().values() for source in sources]
    inputs = [*programs, *firmware, *_firmware_runtime(), FIRMWARE_SCRIPT, *library_sources()]
    return key_of(None, [*inputs, *headers()])


def _prebuilt(compiler: str | None, named: str) -> Path | None:
    """Return a program of the wheel's archive, unless another compiler is named."""
    if not prebuilt.ARCHIVE.is_file() or not uses_ziglang(compiler):
        return None
    sources = sources_hash()
    output = cache_folder() / "prebuilt" / sources / named
    log.debug("%s is of the wheel", output)
    if output.exists():
        return output
    with cached(output.parent):
        return output if prebuilt.take(named, sources, output) else None


def compile_bare(source: str, output: Path, compiler: Compiler) -> Path:
    """Compile C text that needs no library and begins at `_start`."""
    file = output.with_suffix(".c")
    file.write_text(source, encoding="utf-8")
    run([*compiler.c, *FLAGS, "-nostdlib", str(file), "-o", str(output)], None)
    return output


def _programs() -> dict[str, list[Path]]:
    """Map each shipped program to its sources: a folder each, in tests/ a file each."""
    folder = GUEST / "programs"
    programs = {source.stem: [source] for source in sources_in(folder / "tests")}
    for entry in sorted(folder.iterdir()):
        sources = sources_in(entry)
        if sources and entry.name != "tests":
            programs[entry.name] = sources
    return programs


def _link(
    compiler: Compiler,
    sources: Sequence[Path],
    output: Path,
    library: Sequence[Path],
    extra_flags: Sequence[str],
    progress: Progress | None = None,
) -> Path:
    """Compile and link into a scratch folder, then write the program into its place.

    `progress` hears the compiler's warnings.
    """
    _check_flags(compiler, extra_flags)
    _make_folder(output.parent)
    files.check_writable(output, "choose another place for the program")
    shipped = all(source.is_relative_to(GUEST) for source in sources)
    marker = _cxx_marker(compiler, sources)
    if marker and not marker.exists():
        say(progress, "compiling the C++ library, too: the first time takes about two minutes")
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        unfinished = Path(scratch) / "program"
        names = [relative(source) if shipped else str(source) for source in sources]
        # A library gives what those before it in the command want.
        libraries = [flag for flag in extra_flags if flag.startswith("-l")]
        flags = [flag for flag in extra_flags if not flag.startswith("-l")]
        command = [*compiler.command(sources), *FLAGS, *includes(), *flags, *names, *libraries]
        command += [*(str(each.absolute()) for each in library), "-lm", "-o", str(unfinished)]
        run(command, GUEST if shipped else None, progress)
        if marker:
            with cached(marker.parent):
                marker.touch()
        if starts_threads(unfinished):
            run([*command, *_THREADS_FLAGS], GUEST if shipped else None)
        files.write(output, unfinished.read_bytes(), mode=0o777)
    return output


def starts_threads(program: Path) -> bool:
    """Tell whether a program that has been linked starts threads."""
    return program.is_file() and _STARTS_THREADS in program.read_bytes()


def _cxx_marker(compiler: Compiler, sources: Sequence[Path]) -> Path | None:
    """Return the file that says that ziglang has compiled its C++ library, if it is to."""
    if compiler.command(sources) != compiler.cxx or not compiler.is_ziglang:
        return None
    return cache_folder() / "zig" / f"C++ library of {compiler.version}"


def _check_flags(compiler: Compiler, extra_flags: Sequence[str]) -> None:
    """Refuse a flag whose library the compiler does not have."""
    is_openmp = any(flag == "-fopenmp" or flag.startswith("-fopenmp=") for flag in extra_flags)
    if is_openmp and compiler.is_ziglang:
        raise NarthexError(
            f"{compiler.version} has no run-time library of OpenMP (-fopenmp); a compiler that has"
            " one makes programs that run: riscv64-linux-gnu-gcc -static -fopenmp, or"
            f" {OWN_VARIABLE}=riscv64-linux-gnu-gcc narthex cc"
        )


def _check_sources(paths: Sequence[Path]) -> None:
    if not paths:
        raise NarthexError("there is nothing to compile: name one C or C++ source file or more")
    for path in paths:
        if not path.is_file():
            raise NarthexError(f"there is no source file '{path}'")
        if path.suffix not in (*SOURCE_SUFFIXES, *OBJECT_SUFFIXES):
            suffixes = ", ".join((*SOURCE_SUFFIXES, *OBJECT_SUFFIXES))
            raise NarthexError(
                f"'{path}' is not a C or C++ source, object or archive (allowed: {suffixes})"
            )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NarthexError(
            f"cannot make the folder '{folder}' ({error.strerror}); choose another place for the"
            " program"
        ) from error


def _announce(progress: Progress | None, compiler: Compiler, text: str) -> None:
    """Say that something is compiled, and what there is to say about the compiler."""
    if compiler.notice:
        say(progress, compiler.notice)
    say(progress, text)
