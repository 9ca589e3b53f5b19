"""`narthex hardware`: designs of network interfaces as hardware, and what they cost."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    examples,
    finish,
    split_names,
    within,
)
from narthex.cli.reporting import PLOT_OPTION, PlotTarget
from narthex.cli.tables import print_table
from narthex.cli.terminal import inform, say
from narthex.errors import USAGE, NarthexError, unknown

if TYPE_CHECKING:
    from narthex.synthesis.measuring import Measured, Measurement
    from narthex.synthesis.proofs import Outcome
    from narthex.synthesis.sources import Design

hardware = typer.Typer(
    help="Measure network interfaces as hardware.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(hardware, name="hardware")


@hardware.command(
    epilog=examples(
        "narthex hardware area",
        "narthex hardware area sarc --plot figure-7.html",
        "narthex hardware area NI2w CNI32Qm --target xc5v,ecp5,gates --frequency",
        "narthex hardware area CNI512Q --blocks --json area.json",
        "narthex hardware area --design mine.v --top my_interface",
    )
)
def area(
    names: list[str] = typer.Argument(
        None,
        metavar="[DESIGN]...",
        help="Designs, or groups of them: sarc (the bars of Figure 7), queues (the interfaces of"
        " 1996 and 1998); all if none is named.",
        autocompletion=completion.designs,
    ),
    design: Path | None = typer.Option(
        None, "--design", metavar="FILE", help="A design of your own: .v, .sv, .py (Amaranth), .il."
    ),
    top: str | None = typer.Option(
        None,
        "--top",
        help="With --design: the module that holds all others, or the class or function that makes"
        " the component ('top' if not given).",
    ),
    target: str = typer.Option(
        "xc5v", "--target", "-t", help="xc5v, xc7, ecp5 or gates, with commas between; or all."
    ),
    frequency: bool = typer.Option(
        False, "--frequency", help="Place and route each on an ECP5 too: minutes for a large one."
    ),
    blocks: bool = typer.Option(
        False, "--blocks", help="Also what each block contributes, on the first target."
    ),
    jobs: int = typer.Option(2, "--jobs", "-j", **within("jobs"), help="Syntheses at a time."),
    json_file: str | None = JSON_OPTION,
    plot: Path | None = PLOT_OPTION,
) -> None:
    """Measure designs: look-up tables, flip-flops, gates, frequency.

    Gates are those of the paper's rule: a look-up table or a flip-flop is eight.
    Arrays of data, tags and states are ports, which count for nothing. Needs
    narthex[hardware]; its tools compile themselves when they are first used,
    for about a minute each. What was measured before is found again.
    """
    from narthex.synthesis import targets, tools
    from narthex.synthesis.measuring import measure

    json_target, picture = JsonTarget(json_file), PlotTarget(plot)
    tools.require()
    asked = list(targets.TARGETS) if target == "all" else split_names(target)
    chosen_targets = [targets.find(name) for name in asked]
    if not chosen_targets:
        raise NarthexError("--target names no target", USAGE)
    designs = _designs(names or [], design, top)
    with Waiting("Synthesising") as waiting:
        found = measure(
            designs,
            chosen_targets,
            frequency_too=frequency,
            jobs=jobs,
            progress=lambda done, total, left_s: waiting.update(
                f"{done} of {total} syntheses", done, total, left_s
            ),
        )
    first = chosen_targets[0].name
    finish(
        lambda: json_target.write(found.document),
        lambda: picture.draw(
            found.document, lambda: (found.chart(first), f"Gates on {first}, by block")
        ),
        lambda: None if json_target.to_stdout else _show(found, first, blocks=blocks),
    )


def _designs(names: list[str], file: Path | None, top: str | None) -> "list[Design]":
    from narthex.synthesis import designs, sources

    if file is None:
        if top is not None:
            raise NarthexError("--top says what is at the top of --design: give both", USAGE)
        return designs.chosen(names)
    if names:
        raise NarthexError(f"--design is a design of your own: leave '{names[0]}' out", USAGE)
    return [sources.of_file(file, top)]


def _show(found: "Measurement", first: str, *, blocks: bool) -> None:
    numbers = ["LUTs", "flip-flops", "gates", "MHz"]
    rows = [
        [each.name, area.target, f"{area.luts:,g}", f"{area.flip_flops:,}", f"{area.gates:,g}",
         _mhz(each)]
        for each in found.designs
        for area in each.areas.values()
    ]  # fmt: skip
    print_table("Area", ["design", "target", *numbers], rows, numbers, optional=["MHz"], keys=2)
    if blocks or len(found.designs) == 1:
        for each in found.designs:
            _show_blocks(each, first)
    say(f"Made with {', '.join(found.tools)}; of the target 'gates', LUTs are NANDs.")


def _mhz(each: "Measured") -> str:
    return "" if each.frequency_mhz is None else f"{each.frequency_mhz:.0f}"


def _show_blocks(each: "Measured", target: str) -> None:
    area = each.areas[target]
    total = sum(block.gates for block in area.blocks)
    rows = [
        [block.name, f"{block.luts:,g}", f"{block.flip_flops:,}", f"{block.gates:,g}",
         f"{100 * block.gates / total:.1f}"]
        for block in sorted(area.blocks, key=lambda block: -block.gates)
    ]  # fmt: skip
    rows.append(["at boundaries", "", "", f"{-area.boundaries:,g}", ""])
    numbers = ["LUTs", "flip-flops", "gates", "%"]
    print_table(f"{each.name} on {target}, by block", ["block", *numbers], rows, numbers)


@hardware.command(
    epilog=examples("narthex hardware build NI2w@rtl", "narthex hardware build NI2w@./mine")
)
def build(
    interface: str = typer.Argument(
        ..., help="Hardware in an interface's place: NAME@rtl, NAME@./FOLDER or NAME@./FILE.v."
    ),
) -> None:
    """Compile hardware for runs, and say what is wrong with it; runs do so too.

    Latches, combinational loops, two drivers of a signal and ports that are missing, or of other
    widths than those of docs/bring-your-own-rtl.md, are refused with their file and line.
    """
    from narthex.cosimulation import designs

    if Path(interface).exists():
        folder = interface if interface.startswith((".", "/")) else f"./{interface}"
        raise NarthexError(
            f"'{interface}' names no interface; in the place of NI2w it is NI2w@{folder}", USAGE
        )
    found = designs.request(interface, progress=inform)
    if found is None:
        raise NarthexError(f"'{interface}' is a model; its hardware is {interface}@rtl", USAGE)
    clock = found.get("clock", "the machine's interfaces.sarc.clock")
    say(f"{found['name']}: compiled, with a clock of {clock}, as {found['library']}")


@hardware.command(
    epilog=examples(
        "narthex hardware lockstep", "narthex hardware lockstep --events 1000000 --seed 7"
    )
)
def lockstep(
    events: int = typer.Option(
        20_000, "--events", **within("events"), help="Random events, and as many that overlap."
    ),
    seed: int = typer.Option(1, "--seed", **within("seed"), help="Of the random events."),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Compare a tile's RTL with its model, event by event.

    Both get the same accesses and packets: paths of the model checker's scenarios, then
    random ones, first one by one, then overlapping. Exits with 1, and the shortest events
    that show it, at the first difference. Needs narthex[hardware]; the RTL is compiled when
    it is first used.
    """
    from narthex import _native
    from narthex.cosimulation import tiles

    target = JsonTarget(json_file)
    with Waiting("Comparing") as waiting:
        library = tiles.library(progress=waiting.update)
        request = {"library": str(library), "events": events, "seed": seed, "paths": 20}
        found = json.loads(
            _native.lockstep(
                json.dumps(request),
                lambda done: waiting.update(f"{done:,} of {events:,}", done, events),
            )
        )
    finish(
        lambda: target.write(found),
        lambda: None if target.to_stdout else _show_lockstep(found),
        lambda: _fail_at(found["difference"]),
    )


CYCLES = {
    "load_cycles": ("load of the own scratchpad", "load_cycles"),
    "store_cycles": ("store to the own scratchpad", "store_cycles"),
    "out_cycles": ("command to the packet's first flit", "out_cycles"),
    "in_cycles": ("first flit to the word's being written", "in_cycles"),
    "packet_cycles": ("packet to packet of a copy, without its data", "packet_cycles"),
    "remote_store_cycles": ("remote store to its first flit", "out_cycles + wait_cycles"),
}
"""What was measured, and the machine's parameter that stands for it."""


def _show_lockstep(found: dict) -> None:
    numbers = ["events", "refused", "packets", "answers", "cycles"]
    rows = [
        [part["traffic"], *(f"{part[number]:,}" for number in numbers)] for part in found["parts"]
    ]
    print_table("Lock-step of RTL and model", ["traffic", *numbers], rows, numbers)
    rows = [
        [what, str(found["cycles"][key]), parameter] for key, (what, parameter) in CYCLES.items()
    ]
    print_table("Cycles of the RTL", ["of", "cycles", "parameter of the model"], rows, ["cycles"])


def _fail_at(difference: dict | None) -> None:
    """Say what differs, if anything does."""
    if difference is None:
        return
    lines = [f"RTL and model differ ({difference['traffic']}):"]
    for number, batch in enumerate(difference["stimuli"], 1):
        signs = [f"{number:>4}.", *["    +"] * (len(batch) - 1)]
        lines += [f"{sign} {stimulus}" for sign, stimulus in zip(signs, batch, strict=True)]
    lines += [f"the RTL:   {difference['rtl']}", f"the model: {difference['model']}"]
    raise NarthexError("\n".join(lines))


@hardware.command(
    epilog=examples(
        "narthex hardware prove",
        "narthex hardware prove queues --cycles 8",
        "narthex hardware prove acknowledgements --mutants --json proofs.json",
    )
)
def prove(
    names: list[str] = typer.Argument(
        None,
        metavar="[PROPERTY]...",
        help="regions, lists, acknowledgements, packets, queues; all if none is named.",
    ),
    cycles: int | None = typer.Option(
        None, "--cycles", min=1, max=100, help="The depth; without it each property's own."
    ),
    mutants: bool = typer.Option(
        False, "--mutants", help="Also build a fault in, which each proof has to find."
    ),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Prove what the cache with its network interface keeps to, for so many cycles.

    A property is checked for all inputs and all contents of a small cache, from
    the first cycle to the depth: beyond it nothing is proven. It takes minutes;
    what was proven before is found again. Needs narthex[hardware]. The exit code is
    1 if a property breaks, or a proof does not find its mutant's fault.
    """
    from narthex.synthesis import tools

    json_target = JsonTarget(json_file)
    tools.require()
    from narthex.hardware.cache.mutants import MUTANTS
    from narthex.hardware.cache.properties import PROPERTIES
    from narthex.synthesis import proofs

    for name in names or []:
        if name not in PROPERTIES:
            raise unknown("property", name, list(PROPERTIES))
    asked = [
        (PROPERTIES[name], mutant)
        for name in names or PROPERTIES
        for mutant in ([None, MUTANTS[name]] if mutants else [None])
    ]
    outcomes = []
    with Waiting("Proving") as waiting:
        for number, (property_, mutant) in enumerate(asked):
            waiting.update(property_.name, number, len(asked))
            outcomes.append(proofs.prove(property_, cycles, mutant))
    finish(
        lambda: json_target.write({"proofs": [outcome.document for outcome in outcomes]}),
        lambda: None if json_target.to_stdout else _show_proofs(outcomes),
    )
    wrong = [outcome for outcome in outcomes if not outcome.is_as_it_should_be]
    if wrong:
        raise NarthexError(
            "; ".join(
                f"'{each.name}' breaks in cycle {each.breaks_in}"
                if each.mutant is None
                else f"'{each.name}' does not find in {each.cycles} cycles that {each.mutant}"
                for each in wrong
            )
        )


def _show_proofs(outcomes: "list[Outcome]") -> None:
    rows = [
        [each.name, each.meaning if each.mutant is None else f"mutant: {each.mutant}",
         f"{each.cycles}", "holds" if each.breaks_in is None else f"breaks in {each.breaks_in}",
         f"{each.variables:,}", f"{each.seconds:.0f}"]
        for each in outcomes
    ]  # fmt: skip
    numbers = ["cycles", "variables", "s"]
    header = ["property", "meaning", "cycles", "outcome", "variables", "s"]
    print_table("Proofs", header, rows, numbers, keys=2)
