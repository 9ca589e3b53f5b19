"""`narthex cc`: cross-compile guests."""

from pathlib import Path

import typer

from narthex.cli.console import JSON_OPTION, JsonTarget, examples
from narthex.cli.terminal import inform, say
from narthex.errors import NarthexError

_OWN = ("-o", "--output", "--interface", "--print-flags", "--json")
"""Options of the command whose value is the next word, or stands behind a =."""

_OWN_FLAGS = ("-h", "--help", "--firmware")

_JOINED = (
    "-D", "-U", "-I", "-L", "-l", "-x", "-T", "-MF", "-MT", "-MQ",
    "-include", "-isystem", "-idirafter", "-iquote",
)  # fmt: skip
"""Flags of compilers whose value may be the next word or the rest of theirs."""

DEFAULT_OUTPUT = "a.out"

_STEPS = {"-c": ".o", "-S": ".s"}
"""Flags that end a compilation earlier, and what its output is called then."""


def with_flags_behind(arguments: list[str]) -> list[str]:
    """Put the compiler's flags behind a `--`, wherever they stand, each as one word.

    They are what begins with a `-` and is none of the command's own options.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = iter(arguments[:end])
    own, flags = [], []
    for word in words:
        if word in _OWN:
            own += [word, *([value] if (value := next(words, None)) is not None else [])]
        elif word == "-Xlinker":
            flags.append(f"-Wl,{next(words, '')}")
        elif word in _JOINED:
            flags.append(word + next(words, ""))
        elif word in _OWN_FLAGS or word.startswith(("-o", *(f"{each}=" for each in _OWN))):
            own.append(word)
        elif word.startswith("-") and word != "-":
            flags.append(word)
        else:
            own.append(word)
    return [*own, "--", *flags, *arguments[end + 1 :]]


def default_output(sources: list[str], flags: list[str]) -> Path:
    """Return where a program goes if nothing is said: where every compiler puts it."""
    for flag, suffix in _STEPS.items():
        if flag in flags and len(sources) == 1:
            return Path(Path(sources[0]).stem + suffix)
    return Path(DEFAULT_OUTPUT)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "cc",
        epilog=examples(
            "narthex cc ring.c -o ring",
            "narthex cc main.cpp helper.c -O3 -DSIZE=64 -o program",
            "narthex cc --firmware forward.c -o forward -DFIRMWARE_START=0x40000",
            "narthex cc --print-flags cmake > narthex.cmake",
            "NARTHEX_CC=riscv64-linux-gnu-gcc narthex cc ring.c -o ring",
        ),
    )(cc)


def cc(
    arguments: list[str] | None = typer.Argument(
        None,
        metavar="SOURCES... [FLAGS...]",
        help="C and C++ files, objects and archives; flags for the compiler (-O3, -DNAME, -lm).",
    ),
    firmware: bool = typer.Option(
        False,
        "--firmware",
        help="Compile firmware, for a processor without a system (docs/firmware.md).",
    ),
    interface: str = typer.Option(
        "",
        "--interface",
        help="The interface, if its programs are linked apart: SARC, Voyager-resident, ...",
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The program to write; a.out if not given."
    ),
    print_flags: str | None = typer.Option(
        None,
        "--print-flags",
        metavar="FORMAT",
        help="Compile nothing; print what a build system of your own takes, as cmake, json,"
        " make, pkg-config or sh.",
    ),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Compile C and C++ for the simulated processors.

    The messaging library is linked in; firmware has a start-up of its own
    instead. The compiler is ziglang's, or the one that the environment's
    NARTHEX_CC (or CC, if that is for RISC-V) names. Any static RISC-V ELF file
    runs; this is merely the easy way to one.
    """
    import hashlib

    from narthex import _native, compiler
    from narthex.drivers import MOST_INTERFACES

    if print_flags:
        _print_flags(print_flags, interface or MOST_INTERFACES)
        return
    words = arguments or []
    sources = [word for word in words if not word.startswith("-")]
    flags = [word for word in words if word.startswith("-")]
    if not sources:
        raise NarthexError("narthex cc takes sources, or --print-flags FORMAT")
    target = JsonTarget(json_file)
    output = output or default_output(sources, flags)
    given = {"extra_flags": flags, "progress": inform}
    if firmware:
        program = compiler.compile_firmware(sources, output, **given)
    else:
        program = compiler.compile_program(
            sources, output, interface=interface or MOST_INTERFACES, **given
        )
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    target.write(
        {
            "schema": 1,
            "version": _native.__version__,
            "program": str(program),
            "binary_sha256": digest,
        }
    )
    if not target.to_stdout:
        say(f"{program}: {program.stat().st_size:,} bytes")


def _print_flags(form: str, interface: str) -> None:
    from narthex.build_systems import flags_text

    say(flags_text(form, interface, inform).rstrip("\n"))
