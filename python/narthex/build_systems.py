"""How a build system of the user's own compiles guests: `narthex cc --print-flags`.

Each format states the same: the cross compiler, the flags that find `narthex.h`, and the
library that every guest is linked with. They name files of the cache folder, so they are asked
for anew after an upgrade of Narthex.
"""

import json
import shlex
from collections.abc import Callable, Sequence

from narthex.compiler import Flags, guest_flags
from narthex.drivers import MOST_INTERFACES
from narthex.errors import unknown
from narthex.toolchain import Progress


def flags_text(
    form: str, interface: str = MOST_INTERFACES, progress: Progress | None = None
) -> str:
    """Return the flags of guests as a text that a build system reads.

    `form` is one of `FORMATS`; with an `interface` that has a driver apart, its programs'. Compiles
    the messaging library if need be. Raises `NarthexError` for an unknown format.
    """
    if form not in FORMATS:
        raise unknown("format of --print-flags", form, FORMATS)
    return FORMATS[form](guest_flags(interface, progress))


def _variables(flags: Flags) -> dict[str, Sequence[str]]:
    return {
        "NARTHEX_CC": flags.c,
        "NARTHEX_CXX": flags.cxx,
        "NARTHEX_AR": flags.archiver,
        "NARTHEX_CFLAGS": flags.compile,
        "NARTHEX_LDFLAGS": flags.link,
        "NARTHEX_LIBS": flags.libraries,
        "NARTHEX_THREADS_LDFLAGS": flags.threads,
    }


def _make(flags: Flags) -> str:
    lines = [f"{name} = {shlex.join(words)}\n" for name, words in _variables(flags).items()]
    return "".join(lines).replace("$", "$$")


def _shell(flags: Flags) -> str:
    variables = _variables(flags).items()
    return "".join(f"{name}={shlex.quote(shlex.join(words))}\n" for name, words in variables)


def _json(flags: Flags) -> str:
    return json.dumps({name: list(words) for name, words in _variables(flags).items()}, indent=2)


def _pkg_config(flags: Flags) -> str:
    return f"""\
Name: narthex
Description: The messaging library of guests
Version: {_version()}
Cflags: {shlex.join(flags.compile)}
Libs: {shlex.join([*flags.link, *flags.libraries])}
"""


def _cmake(flags: Flags) -> str:
    """Return a toolchain file: every executable is a guest, with the library linked in."""
    archive = " ".join(f'\\"{word}\\"' for word in flags.archiver)
    return f"""\
# cmake -DCMAKE_TOOLCHAIN_FILE=narthex.cmake; made by narthex cc --print-flags cmake.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER {_list(flags.c)})
set(CMAKE_CXX_COMPILER {_list(flags.cxx)})
set(CMAKE_C_FLAGS_INIT "{shlex.join(flags.compile)}")
set(CMAKE_CXX_FLAGS_INIT "{shlex.join(flags.compile)}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "{shlex.join(flags.link)}")
set(CMAKE_C_STANDARD_LIBRARIES "{shlex.join(flags.libraries)}")
set(CMAKE_CXX_STANDARD_LIBRARIES "{shlex.join(flags.libraries)}")
foreach(language C CXX)
  set(CMAKE_${{language}}_ARCHIVE_CREATE "{archive} qc <TARGET> <OBJECTS>")
  set(CMAKE_${{language}}_ARCHIVE_APPEND "{archive} q <TARGET> <OBJECTS>")
  set(CMAKE_${{language}}_ARCHIVE_FINISH "{archive} s <TARGET>")
endforeach()
# target_link_options(PROGRAM PRIVATE ${{NARTHEX_THREADS_LDFLAGS}}) where it starts threads.
set(NARTHEX_THREADS_LDFLAGS {_list(flags.threads)})
"""


def _list(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' for word in words)


def _version() -> str:
    from narthex import _native

    return _native.__version__


FORMATS: dict[str, Callable[[Flags], str]] = {
    "cmake": _cmake,
    "json": _json,
    "make": _make,
    "pkg-config": _pkg_config,
    "sh": _shell,
}
"""What each format makes of the flags."""
