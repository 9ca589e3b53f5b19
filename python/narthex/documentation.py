"""Fills in the generated parts of the documentation.

A page of `docs` may contain

    <!-- generated: transactions CNI32Qm bytes=64 machine=hpca98 -->
    ...
    <!-- end -->

What stands between the two lines is made from a run and replaced by
`python -m narthex.documentation` (`make pages`); a test makes those that
take no time again and compares, so that pages and simulator cannot drift apart.

| kind | arguments | made from |
| --- | --- | --- |
| `transactions` | one interface, `bytes`, `machine` | `narthex explain` |
| `breakdown` | interfaces, `bytes` (several with commas), `machine` | `narthex explain` |
| `measured` | an experiment, interfaces; `at`: workloads, `*` for any text | `narthex experiment` |
| `ranked` | an experiment, places; `at` | the same: a row for each interface at these places |
| `places` | an experiment, places; `at` one workload | the same: its value at each place |
| `claims` | an experiment, interfaces (all claims if none is named) | `narthex experiment` |
| `logp` | interfaces, `bytes` (several), `machine` | `narthex fit logp` |
| `goal` | interfaces, `machine` | `narthex goal fidelity`: minutes |
| `commands` | | what every command says by `--help` |
| `machines` | | `narthex list machines`, `narthex machine show --diagram` |
| `mpi` | | the functions that `mpi.h` declares |
| `mpi-model` | interfaces of hpca98 | `narthex fit logp`, and the experiments mpi/* over hpca98 |
| `calls` | MACHINE/INTERFACE, several | `narthex run roundtrip` and `shmem-latency` |
| `hosts-sensitivity` | interfaces, `bytes`, `machine`; a row a `set` | `narthex.host_costs` |
| `area` | designs of hardware, or a group of them | a synthesis each: a minute |
| `fidelity` | nothing, or one group of experiments | all of its experiments: minutes |

The pictures are made likewise (`documentation_pictures`).

All take `set=KEY=VALUE`, any number of times. Names with blanks are quoted. The machine
of `hosts-sensitivity` may be a file that a page shows: `machine=pcie.md:nic.toml`.
"""

import re
import shlex
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from narthex import experiment_pages, extras, host_pages, mpi, reference
from narthex.assets import experiment_names
from narthex.drivers import driver_apart
from narthex.errors import NarthexError, unknown
from narthex.explanation import Explanation, Row, condensed, explain, words
from narthex.fitting import Fit, fit_logp
from narthex.fitting.measurement import SIZES
from narthex.fitting.tables import Table, caution_table, tables
from narthex.goal import Comparison, compare
from narthex.listing import entries
from narthex.options import DEFAULT_MACHINE
from narthex.running import run
from narthex.validation import Claim, Outcome, experiment, fidelity, load, wording

DOCS = Path(__file__).parents[2] / "docs"

_PART = re.compile(r"^<!-- generated: (.*?) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"(?<=packet) \d+|entry \d+, ")
"""Which packet of a run it is, and which entry of a queue, is of no interest on a page."""


@dataclass
class Directive:
    """What a generated part is to show."""

    kind: str
    names: list[str]
    sizes: list[int] = field(default_factory=lambda: [64])
    machine: str = DEFAULT_MACHINE
    set: list[str] = field(default_factory=list)
    at: str = "*"
    """The workloads of `measured`; a * stands for any text."""

    def lives(self) -> list[Explanation]:
        """Explain a message of each size over each interface."""
        return [
            life(name, size, self.machine, tuple(self.set))
            for name in self.names
            for size in self.sizes
        ]


def parse(text: str) -> Directive:
    """Read the line that opens a generated part."""
    kind, *rest = shlex.split(text)
    if kind not in KINDS:
        raise unknown("kind of generated part", kind, KINDS)
    directive = Directive(kind, [])
    for word in rest:
        key, is_option, value = word.partition("=")
        if not is_option:
            directive.names.append(word)
        elif key == "bytes":
            directive.sizes = [int(size) for size in value.split(",")]
        elif key == "machine":
            directive.machine = value
        elif key == "set":
            directive.set.append(value)
        elif key == "at":
            directive.at = value
        else:
            raise unknown("option of a generated part", key, ["at", "bytes", "machine", "set"])
    return directive


@cache
def life(interface: str, size: int, machine: str, settings: tuple[str, ...]) -> Explanation:
    """Explain a message, once for all pages."""
    return explain(interface, size, machine=machine, set=settings)


@cache
def outcome(name: str) -> Outcome:
    """Run an experiment, once for all pages."""
    return experiment(name)


def transactions(directive: Directive) -> list[str]:
    """Say what happens during a life, polls and acknowledgements left out."""
    (explained,) = directive.lives()
    rows = [row for row in explained.document["transactions"] if _matters(row)]
    cells = [
        [
            f"{row['time_ps'] / 1000:,.0f}",
            f"{row['agent']} of node {row['node']}" if row["agent"] != "network" else "network",
            _NUMBER.sub("", words(row)) + (f" ({row['data']})" if row.get("data") else ""),
            "" if row["cycles"] is None else f"{row['cycles']:,}",
            row.get("part") or ("" if row["critical"] else "(beside the path)"),
        ]
        for row in condensed(rows, critical_too=True)
    ]
    columns = ["ns", "who", "what", "bus cycles", "part of the latency"]
    return markdown_table(columns, cells, right=["ns", "bus cycles"])


def _matters(row: Row) -> bool:
    """Leave out what a processor or the network does beside the critical path."""
    return row["critical"] or row["agent"].endswith("half")


def breakdown(directive: Directive) -> list[str]:
    """Put the mean parts of several messages side by side, in ns."""
    lives = directive.lives()
    parts: dict[str, list[float]] = {}
    for place, explained in enumerate(lives):
        for part, _, mean_ps in explained.breakdown.iter_rows():
            parts.setdefault(part, [0.0] * len(lives))[place] = mean_ps
    sums = [sum(column) for column in zip(*parts.values(), strict=True)]
    rows = [
        [part, *(f"{mean / 1000:,.1f}" if mean else "" for mean in means)]
        for part, means in sorted(parts.items(), key=lambda item: _owner(item[0]))
    ]
    rows.append(["**latency**", *(f"**{mean / 1000:,.1f}**" for mean in sums)])
    heads = [f"{each.document['interface']}, {each.document['bytes']} bytes" for each in lives]
    return markdown_table(["mean ns in", *heads], rows, right=heads)


_OWNERS = ["sender", "interface sends", "flow control", "network", "interface receives", "receiver"]


def _owner(part: str) -> int:
    return _OWNERS.index(part.partition(":")[0])


def measured(directive: Directive) -> list[str]:
    """Put measured values of interfaces side by side, or what an experiment has of a place."""
    name, *named = directive.names
    make = {
        "measured": experiment_pages.measured,
        "ranked": experiment_pages.ranked,
        "places": experiment_pages.places,
    }[directive.kind]
    made = make(outcome(name), named, directive.at)
    return "\n\n".join("\n".join(_lines(each)) for each in made).splitlines()


def claims(directive: Directive) -> list[str]:
    """List the paper's claims, all or those about some interfaces, and whether they hold."""
    name, *interfaces = directive.names
    found = outcome(name)
    stated = {claim.text: claim.holds for claim in found.experiment.claim}
    rows = [
        [claim.text, claim.source, _verdict(claim)]
        for claim in found.claims
        if not interfaces or any(f"'{interface}" in stated[claim.text] for interface in interfaces)
    ]
    return markdown_table([f"claims of `{name}`", "where", "holds"], rows)


def _verdict(claim: Claim) -> str:
    """Say whether a claim holds, and with what it would not."""
    told = "yes" if claim.holds else "**no**"
    return f"{told} ({wording.hangs_on(claim)})" if claim.hangs_on else told


def logp(directive: Directive) -> list[str]:
    """Put the LogGP parameters of interfaces side by side, and where they do not fit."""
    sizes = directive.sizes if len(directive.sizes) > 1 else SIZES
    fits = fit_logp(directive.names, machine=directive.machine, set=directive.set, sizes=sizes)
    parts = [*tables(fits), *filter(None, [caution_table(fits)])]
    return "\n\n".join("\n".join(_lines(part)) for part in parts).splitlines()


def schedules(directive: Directive) -> list[str]:
    """Say how far the fitted model of each interface is from detailed nodes."""
    found = compare(directive.names, machine=directive.machine, set=directive.set)
    return told_of(found)


def told_of(found: Comparison) -> list[str]:
    """Put the errors by pattern, size and ranks one below the other, then what intervals hold."""
    parts = (found.table(), found.by_size(), found.by_ranks(), found.coverage())
    lines = [
        line
        for columns, rows in parts
        for line in ["", *markdown_table(columns, rows, columns[1:])]
    ]
    held, within = (
        sum(map(test, found.rows)) for test in (found.is_held, lambda row: row.is_within)
    )
    told = (
        f"{held} of {len(found.rows)} detailed makespans are within the interval of other patterns,"
        f" {within} within that of the parameters."
    )
    return [*lines[1:], "", told]


def commands(_directive: Directive) -> list[str]:
    """Return a section for each command of the command line."""
    return reference.page()


def machines(_directive: Directive) -> list[str]:
    """Return a section for each machine that comes with Narthex, with its picture."""
    lines = []
    for each in entries("machines"):
        name, summary = each["name"], each["summary"]
        picture = f"![A node of {name}](machines/{name}.svg)"
        lines += [f"## {name}", "", f"{summary}.", "", picture, ""]
    return lines[:-1]


def mpi_functions(_directive: Directive) -> list[str]:
    """Return a table of the functions of MPI that there are."""
    found = mpi.sections()
    rows = [[what, ", ".join(f"`{name[4:]}`" for name in names)] for what, names in found.items()]
    count = sum(len(names) for names in found.values())
    return markdown_table(["what", f"{count} functions, each `MPI_` and `PMPI_`"], rows)


def mpi_model(directive: Directive) -> list[str]:
    """Say what the parts of a cost model of MPI's calls are over interfaces of hpca98, in ns."""
    fits = fit_logp(directive.names)
    rows = [[fit.interface, *map(_nanoseconds, _mpi_costs(fit))] for fit in fits]
    numbers = ["L", "o", "of it the messaging library's", "g", "G_T", "G"]
    numbers += [f"a round of {name}" for name in ("barrier", "broadcast", "allreduce")]
    return markdown_table(["interface", *numbers], rows, right=numbers)


def _nanoseconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"


_MPI_ROUNDS = 4
"""Of a barrier, a tree or recursive doubling on the experiment's 16 ranks."""


def _mpi_costs(fit: Fit) -> list[float]:
    """Return L, o, the messaging library's o, g, G_T, G, and a round of each collective."""

    def value(name: str, workload: str) -> float:
        wanted = (fit.interface, workload)
        rows = outcome(f"mpi/{name}").rows
        (found,) = (row.value for row in rows if (row.interface, row.workload) == wanted)
        if found is None:
            raise NarthexError(f"mpi/{name} has no value of {fit.interface}, {workload}")
        return found

    def one_way(size: int) -> float:
        return value("latency", f"{size} bytes") * 1000 / 2

    parts = fit.parameters
    latency = parts.latency.at(8)
    collectives = ["barrier, 16 ranks", "broadcast of 8 bytes, 16 ranks"]
    collectives.append("allreduce of 8 bytes, 16 ranks")
    return [
        latency,
        one_way(8) - latency,
        parts.send_overhead.at(8) + parts.receive_overhead.at(8),
        8 * 1000 / value("bandwidth", "8 bytes"),
        (one_way(4096) - one_way(256)) / (4096 - 256),
        1000 / value("bandwidth", "4096 bytes"),
        *(value("collectives", each) * 1000 / _MPI_ROUNDS for each in collectives),
    ]


def fidelity_of(directive: Directive) -> list[str]:
    """Say how near systems are to their papers; of one, each experiment, and why rows miss."""
    if not directive.names:
        systems = [(f"[{name}](#{name})", _outcomes(name)) for name in SYSTEMS]
        return _lines(fidelity.overview(systems))
    (system,) = directive.names
    outcomes = _outcomes(system)
    missed = [
        [f"`{each.experiment.name}`", one.what, one.measured, one.printed, one.error, one.cause]
        for each in outcomes
        for one in fidelity.misses(each)
    ]
    columns = ["experiment", "what misses", "measured", "published", "error", "cause"]
    lines = _lines(fidelity.experiments(outcomes))
    if missed:
        lines += ["", *markdown_table(columns, missed, right=columns[2:5])]
    left_out = [
        [f"`{each.experiment.name}`", value, reason]
        for each in outcomes
        for value, reason in fidelity.not_compared(each)
    ]
    if left_out:
        lines += ["", *markdown_table(["experiment", "value that no row answers", "why"], left_out)]
    return lines


SYSTEMS = ["hpca98", "isca96", "edt", "voyager", "sarc", "networks", "mpi", "shmem", "modern"]
"""The groups of experiments, in the order in which they were built."""


def _outcomes(system: str) -> list[Outcome]:
    """Run all experiments of a group; runs that were made before are not repeated."""
    return [outcome(name) for name in experiment_names() if name.startswith(f"{system}/")]


def _lines(table: Table) -> list[str]:
    return markdown_table(table.columns, table.rows, right=table.numbers)


def calls(directive: Directive) -> list[str]:
    """Say what OpenSHMEM's calls take, beside half of a round trip of active messages, in ns."""
    named = ["put, one way", "put and quiet", "get", "atomic fetch and add"]
    named.append("puts in a stream, each")
    rows = []
    for name in directive.names:
        machine, _, interface = name.partition("/")
        nodes = 1 if driver_apart(interface) == "SARC" else 2
        trip, called = (
            run(program, 8, machine=machine, interface=interface, nodes=nodes)
            for program in ("roundtrip", "shmem-latency")
        )
        values = [trip.value("round-trip latency") / 2, *map(called.value, named)]
        rows.append([f"`{machine}`", interface, *(f"{value:,.0f}" for value in values)])
    numbers = ["half of a round trip", *named]
    return markdown_table(["machine", "interface", *numbers], rows, right=numbers)


def hosts(directive: Directive) -> list[str]:
    """Say how what interfaces give a host changes with its parameters."""
    machine = host_pages.shown_machine(directive.machine, DOCS)
    made = host_pages.sensitivity(machine, directive.sizes, directive.names, directive.set)
    return "\n\n".join("\n".join(_lines(each)) for each in made).splitlines()


def area_of(directive: Directive) -> list[str]:
    """Say what designs of hardware come to."""
    from narthex.synthesis import designs, targets
    from narthex.synthesis.measuring import measure

    found = measure(designs.chosen(directive.names), [targets.find(targets.DEFAULT)])
    areas = [(each.name, each.areas[targets.DEFAULT]) for each in found.designs]
    columns = ["design", "look-up tables", "flip-flops", "gates"]
    rows = [
        [name, f"{area.luts:,g}", f"{area.flip_flops:,}", f"{area.gates:,g}"]
        for name, area in areas
    ]
    return markdown_table(columns, rows, right=columns[1:])


KINDS: dict[str, Callable[[Directive], list[str]]] = {
    "transactions": transactions,
    "breakdown": breakdown,
    "measured": measured,
    "ranked": measured,
    "places": measured,
    "claims": claims,
    "logp": logp,
    "goal": schedules,
    "commands": commands,
    "machines": machines,
    "mpi": mpi_functions,
    "mpi-model": mpi_model,
    "fidelity": fidelity_of,
    "hosts-sensitivity": hosts,
    "area": area_of,
    "calls": calls,
}
LIVES = ("transactions", "breakdown", "commands", "machines", "mpi", "calls")
"""The kinds that take no longer than a test may."""

FIDELITY = DOCS / "fidelity.md"
"""The page that needs every experiment: `make experiments` renews it, and `make pages` does not."""


def markdown_table(
    columns: list[str], rows: list[list[str]], right: Collection[str] = ()
) -> list[str]:
    """Return a table's lines; the columns named in `right` hold numbers."""
    rule = ["---:" if column in right else "---" for column in columns]
    return [f"| {' | '.join(cells)} |" for cells in [columns, rule, *rows]]


def filled(text: str, kinds: Collection[str] = tuple(KINDS)) -> str:
    """Return a page with its generated parts of these kinds made anew."""

    def make(match: re.Match[str]) -> str:
        directive = parse(match[1])
        if directive.kind not in kinds:
            return match[0]
        lines = "\n".join(KINDS[directive.kind](directive))
        return f"<!-- generated: {match[1]} -->\n\n{lines}\n\n<!-- end -->"

    return _PART.sub(make, text)


def pages() -> list[Path]:
    """Return the pages that have generated parts."""
    found = sorted(DOCS.rglob("*.md"))
    return [page for page in found if "<!-- generated: " in page.read_text(encoding="utf-8")]


def main() -> None:
    """Make the generated parts of all pages, and the README's pictures, anew.

    With the argument `fidelity`: of that page alone.
    """
    if sys.argv[1:] not in ([], ["fidelity"]):
        sys.exit("usage: python -m narthex.documentation [fidelity]")
    if sys.argv[1:]:
        if missing := _lacking():
            print(f"{FIDELITY.relative_to(DOCS.parent)} stays as it is: {missing}")
        else:
            renew(FIDELITY)
        return
    from narthex.documentation_pictures import draw

    draw()
    for page in (page for page in pages() if page != FIDELITY):
        renew(page)


def _lacking() -> str:
    """Say which experiment cannot be measured for want of an extra, if there is one."""
    for name in experiment_names():
        extra = load(name).needs
        if extra and extras.lacking(extra):
            return f"{name} needs narthex[{extra}] ({extras.remedy(extra)})"
    return ""


def renew(page: Path) -> None:
    """Make the generated parts of one page anew."""
    print(page.relative_to(DOCS.parent), flush=True)
    try:
        text = filled(page.read_text(encoding="utf-8"))
    except NarthexError as error:
        sys.exit(f"{page}: {error}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
