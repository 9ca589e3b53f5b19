"""`narthex machine`: the parameters, and where each comes from."""

import json

import typer

from narthex.cli import completion
from narthex.cli.console import JSON_OPTION, SET_OPTION, JsonTarget, examples, print_table

machine = typer.Typer(
    help="Show machines and their sources.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(machine, name="machine")


@machine.command(
    epilog=examples(
        "narthex machine show hpca98",
        "narthex machine show hpca98 --sources",
        "narthex machine show mine.toml --set bus.clock=125MHz --json",
    )
)
def show(
    name: str = typer.Argument(
        ..., help="A preset, or a machine's TOML file.", autocompletion=completion.machines
    ),
    sources: bool = typer.Option(
        False, "--sources", help="Where each value comes from: stated in the paper, or assumed."
    ),
    set_: list[str] = SET_OPTION,
    json_file: str | None = JSON_OPTION,
) -> None:
    """Show a machine with everything resolved."""
    from narthex import _native

    target = JsonTarget(json_file)
    found = json.loads(_native.machine_show(name, set_, sources))
    target.write({"schema": 1, "version": _native.__version__, **found})
    if target.to_stdout:
        return
    if sources:
        rows = [
            (entry["key"], f"{entry['value']} {entry['unit']}".strip(), *_source(entry["source"]))
            for entry in found["sources"]
        ]
        print_table(found["name"], ["parameter", "value", "", "source or reason"], rows)
    else:
        print(found["toml"])


def _source(source: str | dict[str, str]) -> tuple[str, str]:
    """Split a source: "user", or {"stated": place} or {"assumed": reason}."""
    if isinstance(source, str):
        return "chosen", ""
    ((kind, text),) = source.items()
    return kind, text


@machine.command(epilog=examples("narthex machine schema > machine.schema.json"))
def schema(json_file: str | None = JSON_OPTION) -> None:
    """Print the JSON Schema of a machine's file, for editors."""
    from narthex import _native

    target = JsonTarget(json_file or "-")
    target.write(json.loads(_native.schema()))
