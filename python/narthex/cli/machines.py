"""`narthex machine`: the parameters, where each comes from, and files of one's own."""

import json
import os
from pathlib import Path
from typing import Any

import typer

from narthex import files
from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    check_diagram,
    check_writable,
    examples,
    machine_file,
)
from narthex.cli.options import SET
from narthex.cli.tables import print_table
from narthex.cli.terminal import inform, say, warn
from narthex.errors import USAGE, NarthexError

machine = typer.Typer(
    help="Show, compare, check and begin machines' files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NAME = typer.Argument(
    ...,
    help="A preset, or a machine's TOML file.",
    autocompletion=completion.machines,
    callback=machine_file,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(machine, name="machine")


@machine.command(
    epilog=examples(
        "narthex machine show hpca98",
        "narthex machine show hpca98 --sources",
        "narthex machine show mine.toml --set bus.clock=125MHz --json -",
        "narthex machine show voyager --diagram voyager.svg",
    )
)
def show(
    name: str = NAME,
    sources: bool = typer.Option(
        False, "--sources", help="Where each value comes from: stated in the paper, or assumed."
    ),
    diagram: Path | None = typer.Option(
        None, "--diagram", metavar="FILE.svg", help="Draw a node of it, as a picture."
    ),
    set_: list[str] = SET,
    json_file: str | None = JSON_OPTION,
) -> None:
    """Show a machine with everything resolved."""
    from narthex import _native
    from narthex.charts import diagram as drawing
    from narthex.configuration.differences import split_source, value

    target = JsonTarget(json_file)
    if diagram:
        check_diagram(diagram)
    found = json.loads(_native.machine_show(name, set_, sources))
    _write(target, found)
    if diagram:
        files.write(diagram, drawing.svg(found["machine"]).encode())
        inform(f"the picture is in '{diagram}'")
    if target.to_stdout or diagram:
        return
    if sources:
        rows = [
            (entry["key"], value(entry), *split_source(entry["source"]))
            for entry in found["sources"]
        ]
        columns = ["parameter", "value", "origin", "source or reason"]
        print_table(found["name"], columns, rows, prose=columns[3:])
    else:
        say(found["toml"])


@machine.command(
    epilog=examples(
        "narthex machine diff hpca98 isca96",
        "narthex machine diff hpca98 mine.toml",
        "narthex machine diff hpca98 hpca98 --set bus.clock=125MHz --json -",
    )
)
def diff(
    one: str = NAME,
    other: str = typer.Argument(
        ..., help="Another.", autocompletion=completion.machines, callback=machine_file
    ),
    set_: list[str] = typer.Option(
        [],
        "--set",
        metavar="KEY=VALUE",
        help="Change a parameter of the second; may be repeated.",
        autocompletion=completion.keys,
    ),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Show the parameters in which two machines differ, and where each value is from.

    Values are compared by what they mean: 1MiB is 1024KiB. The exit code is 0
    whether or not there are differences, and 2 if a machine is wrong.
    """
    from narthex.configuration.differences import differences, source, value

    target = JsonTarget(json_file)
    found = differences(one, other, other_set=set_)
    _write(target, {"one": one, "other": other, "differences": found})
    if target.to_stdout:
        return
    if not found:
        say(f"{one} and {other} do not differ")
        return
    rows = [
        (each["key"], value(each["one"]), value(each["other"]), _sources(each, source))
        for each in found
    ]
    columns = ["parameter", one, other, "sources"]
    print_table(f"{one} and {other}", columns, rows, prose=columns[1:], optional=columns[3:])
    say(f"{len(found)} parameters differ")


def _sources(each: dict[str, Any], source: Any) -> str:  # noqa: ANN401 - a function
    """Say where both values are from, one below the other."""
    return "\n".join(text for text in (source(each["one"]), source(each["other"])) if text)


@machine.command(
    epilog=examples(
        "narthex machine check mine.toml",
        "narthex machine check mine.toml --interface CNI32Qm",
        "narthex machine check hpca98 --set bus.clock=125MHz",
    )
)
def check(
    name: str = NAME,
    interface: str | None = typer.Option(
        None,
        "--interface",
        "-i",
        help="Also warn of what has no effect with this interface.",
        autocompletion=completion.interfaces,
    ),
    set_: list[str] = SET,
    json_file: str | None = JSON_OPTION,
) -> None:
    """Check a machine's file: all that is wrong with it, and what has no effect.

    The exit code is 0 if nothing is wrong with it, warnings or not, and 2 otherwise.
    """
    from narthex import _native
    from narthex.configuration import warnings

    target = JsonTarget(json_file)
    found = json.loads(_native.machine_show(name, set_, True))
    told = warnings.of_machine(name, set_, interface) if interface else found["warnings"]
    _write(target, {"name": found["name"], "warnings": told})
    if target.to_stdout:
        return
    warn(told)
    idle = len(told) - len(found["warnings"])
    suffix = f", {idle} settings without effect on {interface}" if idle else ""
    say(f"{name} is a machine that can be run{_firmware(name, set_)}{suffix}")


def _firmware(name: str, settings: list[str]) -> str:
    """Say which firmware a machine runs, and which of it a run has to be given."""
    from narthex import compiler, firmware

    wanted = firmware.names_in(name, settings)
    shipped = compiler.firmware_names()
    own = [f"{each} (comes with Narthex)" for each in wanted if each in shipped]
    lacking = [f"--firmware {each}=FILE" for each in wanted if each not in shipped]
    runs = f", with firmware {', '.join(own)}" if own else ""
    return f"{runs}, once it is given {' and '.join(lacking)}" if lacking else runs


@machine.command(
    epilog=examples(
        "narthex machine new mine.toml --from hpca98",
        "narthex machine new slow.toml --from hpca98 --set bus.clock=125MHz",
        "narthex machine new machines/mine.toml --from isca96 --no-schema --force",
    )
)
def new(
    file: Path = typer.Argument(..., metavar="NAME.toml", help="The file to write."),
    base: str = typer.Option(
        "hpca98",
        "--from",
        metavar="BASE",
        help="The machine to stand on: a preset, or a file.",
        autocompletion=completion.machines,
    ),
    set_: list[str] = typer.Option(
        [],
        "--set",
        metavar="KEY=VALUE",
        help="What differs from it; may be repeated.",
        autocompletion=completion.keys,
    ),
    schema: bool = typer.Option(
        True, help="Put the schema for editors beside it, if it is not there."
    ),
    force: bool = typer.Option(False, "--force", help="Write over a file that is there."),
) -> None:
    """Write a machine's file that stands on another, with comments, ready to be changed."""
    from narthex.configuration import schemas, starter

    starter.check_name(file)
    check_writable(file, "the new file")
    if file.exists() and not force:
        raise NarthexError(f"'{file}' exists; --force writes over it", USAGE)
    text = starter.text(file, base, set_, schema=schema)
    files.write(file, text.encode())
    beside = file.parent / schemas.MACHINE_SCHEMA
    if schema and not beside.exists():
        files.write(beside, (json.dumps(schemas.machine(), indent=2) + "\n").encode())
        say(f"{beside}: the schema with which editors complete and check machines' files")
    say(f"{file}: a machine like {base}; to run it: --machine {_as_machine(file)}")


def _as_machine(file: Path) -> str:
    return f".{os.sep}{file}" if file.parent == Path() else str(file)


@machine.command(epilog=examples("narthex machine schema > machine.schema.json"))
def schema(json_file: str | None = JSON_OPTION) -> None:
    """Print the JSON Schema of a machine's file, for editors (docs/machine-files.md)."""
    from narthex.configuration import schemas

    target = JsonTarget(json_file or "-")
    target.write(schemas.machine())


def _write(target: JsonTarget, document: dict[str, Any]) -> None:
    """Write a document with what identifies it."""
    from narthex import _native

    target.write({"schema": 1, "version": _native.__version__, **document})
