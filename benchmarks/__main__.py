"""The command line of `make bench`."""

import sys
import time
from pathlib import Path

import typer

from benchmarks import building, document, layers, plan, programs, table
from benchmarks.counting import find_counter
from benchmarks.document import Document
from benchmarks.measure import LeftOutError, Measure
from benchmarks.simulator import Simulator
from narthex import compiler
from narthex.cli.console import JsonTarget, Waiting, fail, split_names
from narthex.cli.tables import print_table
from narthex.errors import NarthexError, unknown

RESULT = building.ROOT / "results" / "bench.json"


def bench(
    quick: bool = typer.Option(False, help="Few samples and small programs, under a minute."),
    only: str = typer.Option("", metavar="STEPS", help="Some steps, with commas between them."),
    against: Path | None = typer.Option(None, metavar="FILE", help="Show what changed since."),
    json: Path = typer.Option(RESULT, metavar="FILE", help="Where the results go."),
) -> None:
    """Measure how fast the simulator is here."""
    try:
        steps = chosen(only)
        before = document.read(against) if against else None
        RESULT.parent.mkdir(exist_ok=True)
        target = JsonTarget(str(json))
        measures, left_out, failed = measure(steps, prepared(quick=quick))
        now = document.of_this_machine(measures, left_out, quick=quick)
        target.write(document.to_json(now))
        show(now, before)
        print(f"Written to {json}")
        if failed:
            raise NarthexError(f"{', '.join(failed)} failed; all else was measured")
    except NarthexError as error:
        raise typer.Exit(fail(str(error), error.exit_code)) from None


def chosen(only: str) -> list[plan.Step]:
    """Return the steps that are asked for: all of them if none is named."""
    steps = {step.name: step for step in plan.steps()}
    names = split_names(only)
    for name in names:
        if name not in steps:
            raise unknown("step", name, steps)
    return [step for name, step in steps.items() if name in names or not names]


def prepared(*, quick: bool) -> plan.Bench:
    """Build everything that is measured."""
    say("building what is measured (some minutes the first time)")
    executables = building.build()
    scale = programs.QUICK if quick else programs.FULL
    guests = {name: compiler.program_path(name, progress=say) for name in plan.programs_of(scale)}
    folder = executables[building.SIMULATOR].parent
    for name, source in plan.OWN_SOURCES.items():
        guests[name] = compiler.compile_program(source, folder / name, progress=say)
    for case in layers.cases():
        if case.run.program not in guests:
            guests[case.run.program] = compiler.program_path(
                case.run.program, interface=case.run.interface, progress=say
            )
    for name, interface in plan.streamers().items():
        guests[name] = compiler.program_path(programs.STREAMER, interface=interface, progress=say)
    firmware = {
        case.firmware: compiler.firmware_path(case.firmware, progress=say)
        for case in layers.cases()
        if case.firmware
    }
    simulator = Simulator(executables[building.SIMULATOR], guests)
    return plan.Bench(executables, simulator, scale, quick, find_counter(), say, firmware)


def measure(
    steps: list[plan.Step], bench: plan.Bench
) -> tuple[list[Measure], dict[str, str], list[str]]:
    """Carry out the steps; return what was left out, with the reason, and which of that failed."""
    measures: list[Measure] = []
    left_out: dict[str, str] = {}
    failed: list[str] = []
    for number, step in enumerate(steps, 1):
        begin = time.monotonic()
        with Waiting(f"[{number}/{len(steps)}] {step.name}") as waiting:
            try:
                measures += step.measure(bench.saying(waiting.update))
            except LeftOutError as reason:
                left_out[step.name] = str(reason)
            except NarthexError as problem:
                left_out[step.name] = str(problem)
                failed.append(step.name)
        say(f"[{number}/{len(steps)}] {step.name}: {time.monotonic() - begin:.0f} s")
    return measures, left_out, failed


def show(now: Document, before: Document | None) -> None:
    """Print the table, and what one has to know to read it."""
    host = now.host
    print(f"narthex {now.version} ({now.revision}) on {host['cores']} x {host['processor']}\n")
    columns = table.COMPARED if before else table.COLUMNS
    for group, rows in table.rows(now.measures, before):
        print_table(group, columns, rows, table.RIGHT)
    for step, reason in now.left_out.items():
        print(f"Left out: {step}: {reason}")
    if before:
        print(f"Before: {before.version} ({before.revision}), {before.date}")
        print("* the change is larger than both intervals")
        for doubt in table.comparability(now, before):
            print(f"Beware: {doubt}")
        for name in table.gone(now.measures, before):
            print(f"Not measured any more: {name}")


def say(text: str) -> None:
    """Say what goes on, on the error output."""
    print(f"narthex: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(bench)
    app(prog_name="make bench")
