"""`narthex cc`: cross-compile guests."""

from pathlib import Path

import typer

from narthex.cli.console import JSON_OPTION, JsonTarget, examples
from narthex.cli.terminal import inform, say
from narthex.errors import NarthexError

_WITH_VALUES = ("-o", "--output", "--interface", "--print-flags")
"""Options of the command whose value is the next word."""

_JOINED = ("-D", "-U", "-I", "-L", "-l", "-x", "-include", "-isystem")
"""Flags of compilers whose value may be the next word or the rest of theirs."""


def with_flags_behind(arguments: list[str]) -> list[str]:
    """Put the compiler's flags behind a `--`, wherever they stand, each as one word.

    They are what begins with one `-`, but for the command's own -o and -h.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = iter(arguments[:end])
    own, flags = [], []
    for word in words:
        if word in _WITH_VALUES:
            own += [word, *([value] if (value := next(words, None)) is not None else [])]
        elif word in _JOINED:
            flags.append(word + next(words, ""))
        elif word.startswith("-") and not word.startswith(("--", "-o")) and word not in ("-", "-h"):
            flags.append(word)
        else:
            own.append(word)
    return [*own, "--", *flags, *arguments[end + 1 :]]


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
        help="C and C++ files, objects and archives; flags for the compiler (-O3, -DNAME, -lm),"
        " those that begin with two dashes behind a --.",
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
    output: Path | None = typer.Option(None, "--output", "-o", help="The program to write."),
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

    if print_flags:
        _print_flags(print_flags, interface)
        return
    if not arguments or output is None:
        raise NarthexError("narthex cc takes sources and --output, or --print-flags FORMAT")
    target = JsonTarget(json_file)
    sources = [argument for argument in arguments if not argument.startswith("-")]
    flags = [argument for argument in arguments if argument.startswith("-")]
    given = {"extra_flags": flags, "progress": inform}
    if firmware:
        program = compiler.compile_firmware(sources, output, **given)
    else:
        program = compiler.compile_program(sources, output, interface=interface, **given)
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
