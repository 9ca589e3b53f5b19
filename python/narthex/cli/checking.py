"""`narthex check`: exhaustive model checking."""

import json
from pathlib import Path
from typing import Any

import typer

from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    compile_program,
    examples,
    finish,
    machine_file,
    within,
)
from narthex.cli.options import SET
from narthex.cli.reporting import OPEN_OPTION, REPORT_OPTION, ReportTarget
from narthex.cli.terminal import say, tell
from narthex.errors import USAGE, NarthexError

LIMIT_STATES = 5_000_000
"""States that a check visits at most, unless told otherwise: about 3 GB of memory."""

check = typer.Typer(
    help="Check protocols, directories, interfaces with their drivers, the bridge, a bus with"
    " refusals and shared memory, exhaustively.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(check, name="check")


@check.command(
    epilog=examples("narthex check protocol moesi", "narthex check protocol mesi --json -")
)
def protocol(
    name: str = typer.Argument(..., help="A coherence protocol: moesi, mesi, ..."),
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Explore every state of three caches and one block, with the simulator's own table.

    Exits with 1, and a shortest counter-example, if the protocol is wrong.
    """
    from narthex import _native

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    with Waiting(f"Checking {name}") as waiting:
        waiting.update("starting")
        found = json.loads(_native.check_protocol(name))
    _finish(target, page, [found])


@check.command(
    epilog=examples(
        "narthex check directory moesi",
        "narthex check directory mesi --change 'requests Sharers Upgrade: - withdraws'",
    )
)
def directory(
    name: str = typer.Argument(..., help="A coherence protocol: moesi, mesi, ..."),
    change: str | None = typer.Option(
        None,
        "--change",
        metavar="ENTRY",
        help="Change an entry of the tables, to see what goes wrong.",
    ),
    states: int = typer.Option(
        LIMIT_STATES, "--states", **within("states"), help="Most states to visit."
    ),
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Explore every order in which a directory's messages can arrive, with the simulator's tables.

    Up to three caches, a device and two blocks. Exits with 1 if a property is violated, with a
    shortest counter-example, and if there are more states than allowed.
    """
    from narthex import _native

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    with Waiting(f"Checking {name}") as waiting:
        found = json.loads(
            _native.check_directory(
                name, states, change, lambda count: waiting.update(f"{count:,} states")
            )
        )
    _finish(target, page, [found])


@check.command(
    epilog=examples(
        "narthex check bridge", "narthex check bridge --without fairness --report unfair.html"
    )
)
def bridge(
    without: str | None = typer.Option(
        None,
        "--without",
        metavar="RULE",
        help="Leave out a rule, to see what goes wrong: fairness.",
    ),
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Explore every interleaving of a processor and a device at the bridge to the I/O bus.

    Exits with 1, and a shortest counter-example, if a property is violated.
    """
    from narthex import _native

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    _finish(target, page, [json.loads(_native.check_bridge(without))])


@check.command(epilog=examples("narthex check refusals", "narthex check refusals --without push"))
def refusals(
    without: str | None = typer.Option(
        None,
        "--without",
        metavar="RULE",
        help="Leave out a rule, to see what goes wrong: push or answer.",
    ),
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Explore every interleaving on a bus whose owners and devices refuse transactions.

    Two caches, a device that reads their block, and its register, which it answers late. Exits
    with 1, and a shortest counter-example, if a property is violated: a livelock, for instance.
    """
    from narthex import _native

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    _finish(target, page, [json.loads(_native.check_refusals(without))])


@check.command(
    name="shared-memory",
    epilog=examples(
        "narthex check shared-memory",
        "narthex check shared-memory --nodes 3",
        "narthex check shared-memory --without READING:INVALIDATE",
    ),
)
def shared_memory(
    nodes: int = typer.Option(
        4, "--nodes", "-n", metavar="N", min=2, max=5, help="Nodes, the home among them."
    ),
    without: str | None = typer.Option(
        None,
        "--without",
        metavar="STATE:EVENT",
        help="Leave out a row of the table, to see what goes wrong.",
    ),
    states: int = typer.Option(
        LIMIT_STATES, "--states", **within("states"), help="Most states to visit."
    ),
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Explore every interleaving of loads, stores and messages of shared memory's protocol.

    The table is the file that the guest library includes. Exits with 1 if a property is violated,
    with a shortest counter-example, and if there are more states than allowed.
    """
    from narthex import _native
    from narthex.assets import GUEST

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    table = GUEST / "shared_memory" / "protocols" / "invalidation.def"
    with Waiting("Checking shared memory") as waiting:
        found = json.loads(
            _native.check_shared_memory(
                table.read_text(encoding="utf-8"),
                nodes,
                states,
                without,
                lambda count: waiting.update(f"{count:,} states"),
            )
        )
    _finish(target, page, [found])


@check.command(
    epilog=examples(
        "narthex check interface CNI32Qm",
        "narthex check interface all",
        "narthex check interface CNI16Qm --set interfaces.cni_iqm.when_full=write-back",
        "narthex check interface 'NI2w on io-bus' --machine isca96",
        "narthex check interface CNI16Q --without sense-reverse",
        "narthex check interface CNI16Q --evictions 2 --json report.json",
    )
)
def interface(
    name: str = typer.Argument(
        ...,
        help="A network interface, also with its place ('NI2w on io-bus'), or 'all'.",
        autocompletion=completion.interfaces,
    ),
    machine: str = typer.Option(
        "hpca98",
        "--machine",
        "-m",
        help="Whose protocol and parameters: a preset or a TOML file.",
        autocompletion=completion.machines,
        callback=machine_file,
    ),
    set_: list[str] = SET,
    evictions: int = typer.Option(
        1,
        "--evictions",
        **within("evictions"),
        help="Blocks that the processor's cache loses at most, at any moments.",
    ),
    without: str | None = typer.Option(
        None,
        "--without",
        metavar="RULE",
        help="Leave out a rule of the interface, to see what goes wrong: sense-reverse,"
        " header-last, invalidation, dead-messages or empty-entries.",
    ),
    states: int = typer.Option(
        LIMIT_STATES, "--states", **within("states"), help="Most states to visit."
    ),
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Explore every interleaving of processor, interface, buses and network.

    The interface's model, the processor's cache, the rules of the buses and the compiled driver are
    those of the simulator, with queues of a few entries. Exits with 1 if a property is violated,
    with a shortest counter-example, and if there are more states than allowed. Of 'all', those that
    the machine cannot have, or that do not follow the rule that is left out, are named and not
    checked.
    """
    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    request = {
        "machine": machine,
        "set": set_,
        "without": without,
        "evictions": evictions,
        "limit": states,
    }
    shown = not target.to_stdout
    left_out: dict[str, str] = {}
    if name.casefold() == "all":
        found, left_out = _check_all(request, shown=shown)
    else:
        found = [_check_interface({"interface": name, **request}, shown=shown)]
    _finish(target, page, found, left_out, is_shown=True)


def _check_all(
    request: dict[str, Any], *, shown: bool
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Check every interface; returns the reports, and why the others cannot be checked."""
    from narthex import _native
    from narthex.comparison import interface_names, reasons_of

    # A machine that is wrong with any interface is refused once.
    _native.machine_show(request["machine"], request["set"], False)
    reports, left_out = [], {}
    for name in interface_names():
        try:
            reports.append(_check_interface({"interface": name, **request}, shown=shown))
        except NarthexError as error:
            if error.exit_code != USAGE:
                raise
            left_out[name] = str(error)
    if not reports:
        first = next(iter(left_out.values()))
        raise NarthexError(f"none of the interfaces can be checked: {first}")
    for line in reasons_of(left_out):
        tell(line)
    return reports, left_out


def _check_interface(request: dict[str, Any], *, shown: bool) -> dict[str, Any]:
    """Check an interface and, if that is asked for, print the report."""
    from narthex import _native
    from narthex.placement import naming_machines
    from narthex.programs import find

    guest = find("interface")
    compile_program(guest, request["interface"])
    place = (request["machine"], request["set"], request["interface"])
    with Waiting(f"Checking {request['interface']}") as waiting, naming_machines(*place):
        report = json.loads(
            _native.check_interface(
                json.dumps(request),
                guest.elf(interface=request["interface"]),
                lambda states: waiting.update(f"{states:,} states"),
            )
        )
    if shown:
        say(report["text"])
    return report


def _finish(
    target: JsonTarget,
    page: ReportTarget,
    checks: list[dict[str, Any]],
    left_out: dict[str, str] | None = None,
    *,
    is_shown: bool = False,
) -> None:
    """Write and print reports; exits with 1 if a property is violated, or states are left."""
    from narthex import _native

    document = {
        "schema": 2,
        "version": _native.__version__,
        "checks": checks,
        "left_out": left_out or {},
    }
    finish(
        lambda: target.write(document),
        lambda: page.write_document(document),
        lambda: None if target.to_stdout or is_shown else say(checks[0]["text"]),
    )
    if any(check["counter_example"] or not check["complete"] for check in checks):
        raise typer.Exit(1)
