"""Puts sections into one HTML file that needs nothing else."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from narthex import _native, explanation, files, jobs
from narthex.charts import library, palette
from narthex.documents import (
    CHECK,
    COMPARISON,
    EXPERIMENTS,
    EXPLANATION,
    FIT,
    INTERFERENCE,
    RUN,
    SWEEP,
    Found,
    needed_whole,
)
from narthex.errors import NarthexError
from narthex.interference import Interference
from narthex.report import (
    again,
    checks,
    comparisons,
    experiments,
    fits,
    interferences,
    lives,
    machines,
    runs,
)
from narthex.report.parts import (
    Below,
    Cell,
    Chart,
    Front,
    Gauge,
    Links,
    Mark,
    Paragraph,
    Section,
    Shares,
    Table,
)
from narthex.report.player import Player

TEMPLATES = Path(__file__).parent / "templates"

SCRIPTS = (("front.js", Front), ("player.js", Player))
"""Of parts that need more than the script of all pages."""
OF_ANOTHER_RUN = (
    "A message of the program roundtrip, which sends through the messaging library, in a run of its"
    " own over the same machine and interface. Its size is that of most messages of the run above."
)
"""Of the life of a message on a run's page."""

OF_THE_LIBRARY = (
    "A message that the run's program sends through the messaging library: in the same run, made"
    " again to look at it."
)

OF_THE_PROGRAM = (
    "What the run's program sends by calls of its own, beside the messaging library: in the same"
    " run, made again to look at it."
)


def write(found: Sequence[Found], file: Path, left_out: Sequence[str] = ()) -> int:
    """Write the page of results into a file; returns its size in bytes."""
    text = page(found, left_out).encode()
    files.write(file, text)
    return len(text)


def page(found: Sequence[Found], left_out: Sequence[str] = ()) -> str:
    """Return the page of results as text.

    Raises `NarthexError` for a document that lacks something of its kind.
    """
    used: list[machines.Used] = []
    sections: list[Section] = []
    for each in found:
        with needed_whole(each):
            sections += _sections(each, used)
    if used:
        sections.append(machines.section(used))
    if left_out:
        sections.append(Section("Left out", [Paragraph(reason) for reason in left_out]))
    return rendered(_title(found), sections)


def rendered(title: str, sections: Sequence[Section], again_s: int | None = None) -> str:
    """Return sections as the text of a page; a browser reads it again after `again_s` seconds."""
    named = [_linked(section) for section in _named(sections, set())]
    return _template().render(
        title=title,
        again_s=again_s,
        sections=named,
        version=_native.__version__,
        library=library.text() if _have(named, Chart) else "",
        style=palette.style_sheet() + _text("style.css"),
        script="".join(
            [_text("script.js"), *(_text(f) for f, kind in SCRIPTS if _have(named, kind))]
        ),
    )


def _sections(found: Found, used: list[machines.Used]) -> list[Section]:
    """Return what a document has to show, and note the machines that it used."""
    document = found.document
    if found.kind == SWEEP:
        from narthex.report import sweeps  # its frames are an extra

        return [sweeps.section(found)]
    if found.kind == EXPERIMENTS:
        summaries = document["summaries"]
        used += [machines.used(each["experiment"], each["machine"]) for each in summaries]
        return experiments.sections(document)
    if found.kind == CHECK:
        return checks.sections(document)
    if found.kind == INTERFERENCE:
        return interferences.sections(document)
    used.append(machines.used(found.place, _machine_of(found)))
    if found.kind == FIT:
        return fits.sections(document)
    if found.kind == RUN:
        section = runs.section(document)
        if not runs.has_failed(document):
            section.sections.append(_life(document))
        return [section]
    if found.kind == COMPARISON:
        section = comparisons.section(document)
        for run, its_section in zip(
            document["runs"], section.sections[comparisons.RUNS_FROM :], strict=True
        ):
            its_section.sections.append(_life(run))
        return [section]
    return [lives.section(document)]


def _machine_of(found: Found) -> dict[str, Any]:
    """Return the machine; all runs of a comparison, and all fits, have the same."""
    several = {COMPARISON.name: "runs", FIT.name: "fits"}.get(found.kind.name)
    owner = found.document[several][0] if several else found.document
    return owner["machine"]


def _life(run: dict[str, Any]) -> Section:
    """Explain a message as a run sends them; says why where the present simulator cannot."""
    try:
        life = again.life(run).document
        section = lives.section(life)
        told = OF_ANOTHER_RUN
        if explanation.is_of_program(life):
            is_of_library = life["of"] == explanation.MESSAGE
            told = OF_THE_LIBRARY if is_of_library else OF_THE_PROGRAM
        section.parts.insert(0, Paragraph(told))
        return section
    except NarthexError as error:
        return Section("One message's life", [Paragraph(f"It cannot be shown: {error}.")])


def _title(found: Sequence[Found]) -> str:
    if len(found) > 1:
        return f"{len(found)} results"
    document = found[0].document
    match found[0].kind:
        case kind if kind == RUN:
            return f"{jobs.words(document)} on {document['interface']}"
        case kind if kind == SWEEP:
            from narthex.report import sweeps

            return sweeps.title(found[0])
        case kind if kind == COMPARISON:
            return comparisons.title(document)
        case kind if kind == FIT:
            return "LogGP of " + ", ".join(fit["interface"] for fit in document["fits"])
        case kind if kind == CHECK and len(document["checks"]) == 1:
            return f"Check of {checks.title(document['checks'][0])}"
        case kind if kind == CHECK:
            return f"{len(document['checks'])} checks"
        case kind if kind == INTERFERENCE:
            return Interference(document).title
        case kind if kind == EXPLANATION:
            return explanation.title(document)
    summaries = document["summaries"]
    if len(summaries) > 1:
        return f"{len(summaries)} experiments"
    return experiments.title(summaries[0]["title"], summaries[0]["experiment"])


def _named(sections: Sequence[Section], taken: set[str]) -> Iterator[Section]:
    """Yield the sections with names for links, each different from all others."""
    for section in sections:
        base = re.sub(r"[^a-z0-9]+", "-", (section.ident or section.title).lower()).strip("-")
        name, count = base or "section", 2
        while name in taken:
            name, count = f"{base}-{count}", count + 1
        taken.add(name)
        below = list(_named(section.sections, taken))
        yield replace(section, ident=name, sections=below)


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind)


def _linked(section: Section, around: Sequence[Section] = ()) -> Section:
    """Return a section whose links have the names of sections: the nearest in those around it."""
    around = [section, *around]
    parts = [
        _with_names(part, around) if isinstance(part, Table) else part for part in section.parts
    ]
    return replace(
        section, parts=parts, sections=[_linked(each, around) for each in section.sections]
    )


def _with_names(table: Table, around: Sequence[Section]) -> Table:
    """Return a table whose links have the names of sections; those that lead nowhere go."""

    def named(cell: Cell) -> Cell:
        if not isinstance(cell, Links):
            return cell
        found = [(link, _ident_of(link.to, around)) for link in cell.links]
        return Links(tuple(replace(link, to=ident) for link, ident in found if ident))

    return replace(table, rows=[[named(cell) for cell in row] for row in table.rows])


def _ident_of(title: str, around: Sequence[Section]) -> str:
    """Return the name of the nearest section whose title begins so; empty if there is none."""
    for section in around:
        for each in _below(section):
            if each.title.startswith(title):
                return each.ident
    return ""


def _below(section: Section) -> Iterator[Section]:
    for each in section.sections:
        yield each
        yield from _below(each)


def _have(sections: Sequence[Section], kind: type) -> bool:
    return any(
        any(isinstance(part, kind) for part in section.parts) or _have(section.sections, kind)
        for section in sections
    )


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _template() -> Any:  # noqa: ANN401 - Jinja2 is imported where a page is made
    from narthex.extras import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for kind in (Mark, Shares, Gauge, Below, Links):
        environment.tests[kind.__name__.lower()] = partial(_is, kind)
    return environment.get_template("page.html")
