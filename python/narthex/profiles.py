"""Where a program's time goes, by function and line: of a run with `--profile` (docs/observing.md).

document["profile"] ──► rows ──► functions: self and total time, a table
                             ──► collapsed: stacks as lines of text
                             ──► charts.flame: a picture
                    ──► pprof, by the simulator
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narthex import arguments, files
from narthex.errors import USAGE, NarthexError, unknown

Document = dict[str, Any]

IDLE = "[no function]"
"""What the terminal calls time in which a processor runs nothing."""

ENDINGS = {
    ".txt": "collapsed stacks", ".folded": "collapsed stacks", ".pb.gz": "pprof",
    ".svg": "a flame graph", ".html": "a flame graph",
}  # fmt: skip
"""What is written into a file, by the end of its name."""


@dataclass(frozen=True)
class Frame:
    """A function on a stack, and the line that was at work in it."""

    function: str
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Row:
    """Time of a processor in one stack and one category."""

    node: int
    processor: int
    stack: tuple[Frame, ...]
    """The outermost function first; empty where the processor runs nothing."""
    activity: str
    occupation: str
    time_ps: int


@dataclass
class Function:
    """A function's time."""

    name: str
    own_ps: int = 0
    """Its own instructions' time, and what they wait for."""
    total_ps: int = 0
    """That of the functions that it calls, too; once where it calls itself."""
    categories: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Its own time by activity and occupation."""


def rows(document: Document) -> Iterator[Row]:
    """Yield the rows of a run's profile."""
    profile = document["profile"]
    names, paths = profile["functions"], profile["files"]
    frames = [
        Frame(names[function], None if file is None else paths[file], line or None)
        for function, file, line in profile["frames"]
    ]
    stacks: list[tuple[Frame, ...]] = []
    for above, frame in profile["stacks"]:
        stacks.append((*(() if above is None else stacks[above]), frames[frame]))
    for node, processor, stack, activity, occupation, time_ps in profile["rows"]:
        own = () if stack is None else stacks[stack]
        yield Row(node, processor, own, activity, occupation, time_ps)


def functions(document: Document) -> list[Function]:
    """Return the functions, those with most time of their own first."""
    found: dict[str, Function] = {}
    for row in rows(document):
        names = [frame.function for frame in row.stack] or [IDLE]
        for name in dict.fromkeys(names):
            found.setdefault(name, Function(name)).total_ps += row.time_ps
        own = found[names[-1]]
        own.own_ps += row.time_ps
        own.categories[row.activity, row.occupation] += row.time_ps
    return sorted(found.values(), key=lambda each: (-each.own_ps, -each.total_ps, each.name))


def lines(document: Document) -> list[tuple[str, str, int]]:
    """Return functions, their lines ("main.c:12") and the own time of these, most first."""
    times: Counter[tuple[str, str]] = Counter()
    for row in rows(document):
        if row.stack and (frame := row.stack[-1]).file:
            place = f"{Path(frame.file).name}:{frame.line or '?'}"
            times[frame.function, place] += row.time_ps
    return [(function, place, time) for (function, place), time in times.most_common()]


def stacks(document: Document, *, by_node: bool = False) -> Counter[tuple[str, ...]]:
    """Return the time of each stack of names; its category is innermost, in brackets."""
    times: Counter[tuple[str, ...]] = Counter()
    for row in rows(document):
        node = (f"node {row.node}",) if by_node else ()
        names = (frame.function for frame in row.stack)
        times[*node, *names, f"[{row.activity} / {row.occupation}]"] += row.time_ps
    return times


def collapsed(document: Document, *, by_node: bool = False) -> str:
    """Return a line a stack, "main;send;[send / execute] 1200", with its time in picoseconds."""
    all_ = sorted(stacks(document, by_node=by_node).items())
    return "".join(f"{';'.join(name.replace(';', ',') for name in stack)} {time}\n"
                   for stack, time in all_)  # fmt: skip


def flame_graph(document: Document, *, by_node: bool = False, is_alone: bool = True) -> str:
    """Return a flame graph as SVG; one that is not alone is part of a page with our colours."""
    from narthex.charts import flame

    return flame.svg(stacks(document, by_node=by_node), title(document), is_alone=is_alone)


def title(document: Document) -> str:
    """Return what was profiled, in words."""
    words = " ".join([document["program"], *document["arguments"]])
    region = document["profile"]["region"]
    part = "" if region is None else f", region '{region}'"
    return f"{words} on {document['interface']}{part}"


def request(region: str | None = None) -> dict[str, Any]:
    """Describe a profile, as the simulator reads it."""
    return {} if region is None else {"region": arguments.text("region", region)}


def ending(file: str | Path) -> str:
    """Return the end of a file's name, which says what is written into it."""
    name = str(file)
    for known in ENDINGS:
        if name.endswith(known):
            return known
    allowed = ", ".join(f"{known} ({what})" for known, what in ENDINGS.items())
    raise NarthexError(f"a profile cannot be written to '{name}': it must end in {allowed}", USAGE)


def check_region(document: Document) -> None:
    """Refuse the profile of a region that the program has not marked."""
    region = document["profile"]["region"]
    known = {each["name"] for each in document["regions"]}
    if region is not None and region not in known:
        raise unknown("region in this run", region, known)


def save(document: Document, file: str | Path, *, by_node: bool = False) -> Path:
    """Write a run's profile: as collapsed stacks, for pprof or as a flame graph, by the name."""
    kind, place = ending(file), Path(file)
    if kind == ".pb.gz":
        from narthex import _native

        profile = json.dumps(document["profile"])
        data = _native.pprof(profile, title(document), document["simulated_ps"])
    elif ENDINGS[kind] == "collapsed stacks":
        data = collapsed(document, by_node=by_node).encode()
    else:
        drawn = flame_graph(document, by_node=by_node)
        data = (drawn if kind == ".svg" else _page(drawn, title(document))).encode()
    files.write(place, data)
    return place


def _page(drawn: str, name: str) -> str:
    """Return a picture as a page of its own."""
    import html

    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Profile of {html.escape(name)}</title><style>body{{margin:0}}</style></head>"
        f"<body>{drawn}</body></html>\n"
    )
