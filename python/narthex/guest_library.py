"""The library that guests are linked with: messaging, MPI and OpenSHMEM, and the runtime.

It is compiled once for a compiler and its flags and kept in the cache folder; the key is a hash of
all that goes in. What only programs for some interfaces have (`drivers`) is compiled beside it,
when a program wants it.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from narthex.assets import GUEST
from narthex.drivers import DRIVERS_APART, RESERVED_REGISTERS
from narthex.toolchain import Compiler, Progress, cache_folder, cached, run, run_all

SOURCE_SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
STATIC = "-static"
FLAGS = ("-O2", "-g", STATIC)


def sources_in(folder: Path) -> list[Path]:
    """Return the C and C++ sources of a folder, in the order of their names."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix in SOURCE_SUFFIXES)


def headers() -> list[Path]:
    """Return all headers of the guests."""
    return sorted([*GUEST.rglob("*.h"), *GUEST.rglob("*.def")])


_LIBRARY = (
    *("runtime", "messaging", "shared_memory", "via", "verbs", "via_verbs"),
    *("voyager", "sarc", "mpi", "shmem"),
)
"""The folders of the library in guest/."""


def library_sources() -> list[Path]:
    """Return the sources of the library."""
    return [source for folder in _LIBRARY for source in sources_in(GUEST / folder)]


def key_of(compiler: Compiler | None, inputs: Iterable[Path]) -> str:
    """Hash everything that decides what is compiled."""
    digest = hashlib.sha256(repr((compiler, FLAGS, RESERVED_REGISTERS, DRIVERS_APART)).encode())
    for path in inputs:
        digest.update(f"\0{path.relative_to(GUEST)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def _archive(compiler: Compiler) -> Path:
    key = key_of(compiler, [*library_sources(), *headers()])
    return cache_folder() / "library" / key / "libnarthex.a"


def _library(compiler: Compiler, progress: Progress | None) -> Path:
    """Return the static archive of runtime and messaging, compiled if need be."""
    sources, archive = library_sources(), _archive(compiler)
    if archive.exists():
        return archive
    say(progress, "compiling the messaging library (the first time takes about a minute)")
    with cached(archive.parent), tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        names = [f"{source.parent.name}-{source.stem}.o" for source in sources]
        objects = [str(Path(scratch) / name) for name in names]
        flags = [*FLAGS, *includes()]
        run_all(
            ([*compiler.c, *flags, *_reserved(source), "-c", relative(source), "-o", target]
             for source, target in zip(sources, objects, strict=True)),
            GUEST,
        )  # fmt: skip
        unfinished = Path(scratch) / archive.name
        run([*compiler.archiver, "rcs", str(unfinished), *objects], GUEST)
        unfinished.replace(archive)
    return archive


def _reserved(source: Path) -> Sequence[str]:
    """Return the flags of a source of the library that leaves registers to the hardware."""
    return RESERVED_REGISTERS.get(f"{source.parent.name}/{source.name}", ())


def linked(compiler: Compiler, driver: str | None, progress: Progress | None) -> list[Path]:
    """Return what a program is linked with: the library, before it a driver apart, if it takes one.

    That is drivers.c with this driver alone, and what else is compiled for it.
    """
    archive = _library(compiler, progress)
    if driver is None:
        return [archive]
    apart = DRIVERS_APART[driver]
    objects = [_compiled_apart(compiler, archive.parent, driver, each) for each in apart.sources]
    if not apart.members:
        return [*objects, archive]
    of_driver = archive.parent / f"libnarthex_{driver}.a"
    if not of_driver.exists():
        members = [
            _compiled_apart(compiler, archive.parent, driver, each) for each in apart.members
        ]
        with cached(archive.parent), tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
            unfinished = Path(scratch) / of_driver.name
            names = [str(each.absolute()) for each in members]
            run([*compiler.archiver, "rcs", str(unfinished), *names], GUEST)
            unfinished.replace(of_driver)
    return [*objects, of_driver, archive]


def _compiled_apart(compiler: Compiler, folder: Path, driver: str, source: str) -> Path:
    """Return an object of the library that is compiled for one driver alone."""
    path = Path(source)
    output = folder / f"{path.parent.name}-{path.stem}_{driver}.o"
    if output.exists():
        return output
    apart = DRIVERS_APART[driver]
    further = apart.goes_with_others
    each = " ".join(f"EACH(DRIVER_{name},{name.lower()})" for name in further or (driver,))
    only = f"-D{'FURTHER' if further else 'ONLY'}_DRIVER(EACH)={each}"
    with cached(folder), tempfile.TemporaryDirectory(dir=folder) as scratch:
        unfinished = Path(scratch) / output.name
        flags = [*FLAGS, *includes(), only, *apart.flags, *apart.flags_of_programs]
        run([*compiler.c, *flags, "-c", source, "-o", str(unfinished)], GUEST)
        unfinished.replace(output)
    return output


def library_is_compiled(compiler: Compiler) -> bool:
    """Tell whether the messaging library, and so the C library, is in the cache."""
    return _archive(compiler).exists()


def includes() -> list[str]:
    """Return the flags that find the headers and keep this machine's paths out of the ELF file."""
    root = GUEST.resolve()
    # The folder of the compilation is 'guest'; headers lie below it, and are named from there.
    paths = [f"-ffile-prefix-map={root}=guest", f"-ffile-prefix-map={root}/="]
    of_libraries = (root / library / "include" for library in ("mpi", "shmem", "verbs"))
    folders = (root, root / "messaging", *of_libraries)
    return [*(f"-I{folder}" for folder in folders), *paths]


def relative(source: Path) -> str:
    """Return a source's path below the guests' folder."""
    return str(source.relative_to(GUEST))


def say(progress: Progress | None, text: str) -> None:
    """Tell how the compilation goes on, if that is asked for."""
    if progress:
        progress(text)
