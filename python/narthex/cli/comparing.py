"""`narthex compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import typer

from narthex import notation
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    compile_program,
    examples,
    finish,
    split_names,
    warn_of_idle,
)
from narthex.cli.options import (
    ARGUMENTS,
    AT_A_TIME,
    PROGRAM,
    SEVERAL,
    WHERE,
    several_interfaces,
    taking,
)
from narthex.cli.reporting import OPEN_OPTION, PLOT_OPTION, REPORT_OPTION, PlotTarget, ReportTarget
from narthex.cli.tables import print_table
from narthex.cli.terminal import say
from narthex.options import ProgramOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narthex.comparison import Comparison, Unranked


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "compare",
        epilog=examples(
            "narthex compare roundtrip 64 --interface all",
            "narthex compare bandwidth 256 --interface NI2w,CNI32Qm --json -",
            "narthex compare roundtrip 64 --report roundtrip.html",
            "narthex compare roundtrip 64 --interface NI2w,CNI4,CNI32Qm --plot ranking.svg",
            "narthex compare roundtrip 64 -m isca96 -i 'NI2w, NI2w on io-bus'",
            "narthex compare em3d 160 3 20 --nodes 4 --from em3d.warm -i NI2w,CNI32Qm",
            "narthex compare roundtrip 8 --by 'round-trip latency, maximum'",
        ),
    )(compare)


@taking(ProgramOptions)
def compare(
    program: str = PROGRAM,
    args: list[str] | None = ARGUMENTS,
    interface: list[str] = several_interfaces(["all"], f"'all', or names {SEVERAL}. {WHERE}"),
    by: str | None = typer.Option(
        None, "--by", help="Rank by this report; by the program's first if not given."
    ),
    *,
    jobs: int = AT_A_TIME,
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    plot: Path | None = PLOT_OPTION,
    open_: bool = OPEN_OPTION,
    **options: Unpack[ProgramOptions],
) -> None:
    """Run the same binary over several interfaces and rank them."""
    from narthex import comparison
    from narthex.programs import find

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    picture = PlotTarget(plot)
    names = split_names(interface)
    guest = find(program)
    compile_program(guest)
    is_all = [name.casefold() for name in names] == ["all"]
    warn_of_idle(
        options["machine"], options["set"], comparison.interface_names() if is_all else names
    )
    with Waiting(f"Comparing {guest.name}") as waiting:
        found = comparison.compare(
            guest,
            *(args or []),
            interfaces=names,
            by=by,
            jobs=jobs,
            observer=lambda name: (
                lambda time_ps: waiting.update(f"{name}, {time_ps / 1e9:.3f} ms simulated")
            ),
            **options,
        )
    document = found.document
    finish(
        lambda: target.write(document),
        lambda: page.write_document(document),
        lambda: picture.draw(document, lambda: (found.ranking(), found.title)),
        lambda: None if target.to_stdout else _show_ranking(found, options["machine"]),
    )
    failed = [each.exit_code for each in found.unranked if each.status == comparison.FAILED]
    raise typer.Exit(failed[0] if failed else 0)


def _show_ranking(found: "Comparison", machine: str) -> None:
    """Print the interfaces, best first, and why others have no value."""
    from narthex.comparison import RANKED

    beside = found.percentiles
    rows = [
        (row["rank"], row["interface"], notation.text(row["value"]),
         *(notation.text(result.value(name)) for name in beside), row["unit"], _ratio(row))
        for row, result in zip(found.rows(), found.results, strict=False)
        if row["status"] == RANKED
    ]  # fmt: skip
    names = [found.measure, *(name.rpartition(", ")[2] for name in beside)]
    columns = ["rank", "interface", *names, "unit", "from the best"]
    first = found.document["runs"][0]
    words = " ".join([first["program"], *first["arguments"]])
    title = f"{words} on {machine}, by {found.measure}"
    print_table(title, columns, rows, ["rank", *names, "from the best"])
    show_unranked(found.unranked)


def show_unranked(unranked: "Sequence[Unranked]") -> None:
    """Print the interfaces without a value, those of the same reason together."""
    from narthex.comparison import grouped

    for status in dict.fromkeys(each.status for each in unranked):
        reasons = {each.interface: each.reason for each in unranked if each.status == status}
        for names, reason in grouped(reasons):
            first, _, more = reason.partition("\n")
            all_of_it = f" ('narthex run' with -i '{names[0]}' says more)" if more else ""
            say(f"{status}: {', '.join(names)}: {first}{all_of_it}")


def _ratio(row: dict[str, Any]) -> str:
    return "" if row["times_best"] is None else f"{row['times_best']:.2f} x"
