"""The sections of experiments: measured beside published, and the papers' claims."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from narthex import layouts
from narthex.charts import drawings, looks
from narthex.charts.curves import curves
from narthex.report import machines, sensitivity
from narthex.report.parts import (
    Chart,
    Facts,
    Mark,
    Paragraph,
    Section,
    Table,
    columns,
    percent,
    without_empty,
)
from narthex.validation import wording
from narthex.validation.outcome import Claim, Failure, Summary, label
from narthex.validation.rows import Row
from narthex.validation.sensitivity import Varied
from narthex.validation.variations import Untried

Ledgers = list[dict[str, Any]]

SIZE = re.compile(r"(\d+) bytes")


DERIVED = "Derived rows (a relation's error in percent is that of the ratio)"

MOST_OPEN = 3
"""Experiments that are open at first; of more each is folded, below the overview."""

LONGEST_TABLE = 20
"""Longer tables are closed at first."""

LONGEST_CLAIM = 3
"""Workloads at which the numbers of a claim are shown."""


def sections(document: dict[str, Any]) -> list[Section]:
    """Describe every experiment of a document; an overview comes first if there are several."""
    rows, claims = _grouped(Row, document["rows"]), _grouped(Claim, document["claims"])
    failures = _grouped(Failure, document["failures"])
    ledgers: dict[str, Ledgers] = defaultdict(list)
    for each in document.get("ledgers", []):
        ledgers[each["experiment"]].append(each)
    varied = _grouped(Varied, document.get("varied", []))
    untried = _grouped(Untried, document.get("untried", []))
    summaries = [layouts.made(Summary, entry) for entry in document["summaries"]]
    made = []
    for summary in summaries:
        name = summary.experiment
        section = _section(summary, rows[name], claims[name], failures[name], ledgers[name])
        section.parts.extend(sensitivity.parts(summary, varied[name], untried[name]))
        made.append(section)
    if len(summaries) > MOST_OPEN:
        made = [replace(section, is_folded=True) for section in made]
    if len(summaries) > 1:
        made.insert(0, _overview(summaries, rows, claims, failures, made))
    return made


def title(given: str, experiment: str) -> str:
    """Return an experiment's title as its file gives it, and its name."""
    return f"{given} ({experiment})"


def _grouped(make: type, entries: list[dict[str, Any]]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for entry in entries:
        groups[entry["experiment"]].append(layouts.made(make, entry))
    return groups


def _overview(
    summaries: list[Summary],
    rows: dict[str, list[Row]],
    claims: dict[str, list[Claim]],
    failures: dict[str, list[Failure]],
    made: list[Section],
) -> Section:
    every = [claim for group in claims.values() for claim in group]
    compared = [row for group in rows.values() for row in group if row.error_percent is not None]
    failed = sum(map(len, failures.values()))
    facts = Facts(
        [
            ("Claims that hold", _held(every)),
            ("Experiments", str(len(summaries))),
            ("Values beside published ones", str(len(compared))),
            ("Outside their limits", _tally(sum(len(each.outside_limits) for each in summaries))),
            ("Failed runs", _tally(failed)),
        ]
    )
    numbers = ["published values", "mean error", "worst error", "outside limits"]
    cells = [
        [
            each.experiment,
            each.title,
            section.mark or "none",
            str(each.published),
            _percent(each.mean_absolute_error_percent, ""),
            _percent(each.worst_error_percent, "+"),
            _tally(len(each.outside_limits)),
        ]
        for each, section in zip(summaries, made, strict=True)
    ]
    names = columns("experiment", "title", "claims", *numbers, numbers=numbers)
    table = Table("The experiments", names, cells)
    drawn = [
        {"experiment": row.experiment, "row": label(row), "error": row.error_percent}
        for row in compared
    ]
    parts: list[Any] = [facts, table]
    if drawn:
        words = f"A tick for each of {len(drawn)} values: its error in percent of the published one"
        behind = Table(
            "Errors of all values that the papers print",
            columns("experiment", "row", "error", numbers=["error"]),
            [[row.experiment, label(row), wording.error(row)] for row in compared],
            is_folded=True,
        )
        order = [each.experiment for each in summaries]
        parts.append(Chart("Errors", words, drawings.errors(drawn, order), behind))
    return Section("Overview", parts, mark=_held(every))


def _section(
    summary: Summary,
    rows: list[Row],
    claims: list[Claim],
    failures: list[Failure],
    ledgers: Ledgers,
) -> Section:
    measured = [row for row in rows if row.baseline is None]
    derived = [row for row in rows if row.baseline is not None]
    facts = Facts(
        [
            ("Source", summary.source),
            ("Machine", machines.name(summary.machine)),
            ("Claims that hold", _held(claims)),
            ("Published values", str(summary.published)),
            ("Mean error", _percent(summary.mean_absolute_error_percent, "")),
            ("Worst error", _worst(summary)),
            ("Outside their limits", _tally(len(summary.outside_limits))),
        ]
    )
    parts: list[Any] = [facts]
    if claims:
        parts.append(_claims(claims))
    if summary.without_value:
        told = "; ".join(summary.without_value)
        parts.append(Paragraph(f"Has no value where the paper prints one: {told}."))
    parts += measured_charts(summary, measured)
    parts += [_ledger_chart(summary, ledgers)] if ledgers else []
    parts += _derived_parts(summary, derived)
    if failures:
        parts.append(_failures(failures))
    return Section(
        title(summary.title, summary.experiment),
        parts,
        ident=summary.experiment.replace("/", "-"),
        mark=_held(claims),
    )


def _held(claims: Sequence[Claim]) -> Mark:
    held = sum(claim.holds for claim in claims)
    if not claims:
        return Mark("no claims", "plain")
    return Mark(f"{held} of {len(claims)}", "good" if held == len(claims) else "bad")


def _tally(count: int) -> Mark:
    return Mark(str(count), "bad" if count else "plain")


def _percent(value: float | None, sign: str) -> str:
    return "none" if value is None else f"{value:{sign}.1f} %"


def _worst(summary: Summary) -> str:
    if summary.worst is None:
        return "none"
    return f"{_percent(summary.worst_error_percent, '+')} ({summary.worst})"


def _claims(claims: list[Claim]) -> Table:
    rows = [
        [
            Mark(wording.verdict(claim), "good" if claim.holds else "bad"),
            claim.text,
            ", ".join(claim.fails_at),
            wording.hangs_on(claim),
            _numbers(claim),
            claim.source,
        ]
        for claim in claims
    ]
    names = columns("verdict", "claim", "fails at", "hangs on", "measured", "source")
    return without_empty(Table("The paper's claims", names, rows))


def _numbers(claim: Claim) -> str:
    """Return the values that a claim is about, where it fails or else where it is looked at."""
    shown = claim.fails_at or list(claim.values)
    told = []
    for workload in shown[:LONGEST_CLAIM]:
        values = claim.values.get(workload, {})
        if values:
            named = (f"{name} {wording.three_digits(value)}" for name, value in values.items())
            told.append(f"{workload}: {', '.join(named)}")
    more = len(shown) - LONGEST_CLAIM
    return "; ".join([*told, f"and {more} more"] if told and more > 0 else told)


def _failures(failures: list[Failure]) -> Table:
    rows = [
        [each.interface, each.workload, str(each.seed), Mark(each.reason, "bad")]
        for each in failures
    ]
    return Table("Failed runs", columns("interface", "workload", "seed", "reason"), rows)


def measured_charts(summary: Summary, rows: list[Row]) -> list[Chart]:
    """Return the measured rows as a chart for each unit, with their table."""
    units = dict.fromkeys(row.unit for row in rows)
    return [_measured(summary, [row for row in rows if row.unit == unit]) for unit in units]


def _measured(summary: Summary, rows: list[Row]) -> Chart:
    unit = rows[0].unit
    by_size = any(row.nearest_percent is not None for row in rows)
    third = "nearest" if by_size else "spread"
    numbers = ["measured", third, "published", "error"]
    cells = [
        [
            row.interface,
            row.workload,
            wording.three_digits(row.value),
            _or_nothing(row.nearest_percent if by_size else row.spread),
            wording.published(row),
            _error(row),
        ]
        for row in rows
    ]
    title = f"{summary.title}, {unit}"
    names = columns("interface", "workload", *numbers, numbers=numbers)
    table = without_empty(Table(title, names, cells, is_folded=len(cells) > LONGEST_TABLE))
    shown = [drawn(row) for row in rows if row.value is not None]
    interfaces = list(dict.fromkeys(row["interface"] for row in shown))
    printed = sum("published" in row for row in shown)
    told = f"Measured values of {len(interfaces)} interface{'s' * (len(interfaces) > 1)}"
    if any("low" in row for row in shown):
        told += ", with error bars as long as the spread"
    if printed:
        told += f"; {printed} published values as diamonds"
    return Chart(title, told, _values_chart(shown, unit, interfaces), table)


def _values_chart(rows: looks.Rows, unit: str, interfaces: list[str]) -> looks.Spec:
    sizes = [SIZE.fullmatch(row["workload"]) for row in rows]
    if len({row["workload"] for row in rows}) > 2 and all(sizes):
        points = [{**row, "x": int(size[1])} for row, size in zip(rows, sizes, strict=True) if size]
        return curves(points, unit, interfaces)
    if len(interfaces) == 1:
        named = [{**row, "interface": row["workload"]} for row in rows]
        return drawings.bars(named, unit, [row["interface"] for row in named])
    return drawings.bars(rows, unit, interfaces, panels="workload")


def drawn(row: Row) -> dict[str, Any]:
    """Return what a chart shows of a row; what the row does not have is missing."""
    found: dict[str, Any] = {
        "interface": row.interface,
        "workload": row.workload,
        "value": row.value,
    }
    if row.spread and row.value is not None:
        found |= {"low": row.value - row.spread / 2, "high": row.value + row.spread / 2}
    if row.published_low is not None:
        found |= {"published_low": row.published_low, "published_high": row.published_high}
        found |= {"published": wording.published(row), "error": wording.error(row)}
    return found


def _ledger_chart(summary: Summary, ledgers: Ledgers) -> Chart:
    """Return the time of each cell by activity, a panel a workload."""
    drawn, cells = [], []
    for each in ledgers:
        times: Counter[str] = Counter()
        for key, time_ps in each["ledger_ps"].items():
            times[key.partition(" / ")[0]] += time_ps
        names = {"interface": each["interface"], "workload": each["workload"]}
        total = max(times.total(), 1)
        for part, time in times.items():
            drawn.append({**names, "activity": part, "time": time, "share": time / total})
        largest = ", ".join(f"{part} {percent(t / total)} %" for part, t in times.most_common(4))
        cells.append([*names.values(), largest])
    title = "Where the time went, all processors and seeds together"
    return Chart(
        title,
        f"Bars of time for each interface, stacked by activity, for {summary.title}",
        drawings.ledger(drawn, "interface", "activity", panels="workload"),
        Table(title, columns("interface", "workload", "most of it"), cells, is_folded=True),
    )


def _derived_parts(summary: Summary, rows: list[Row]) -> list[Any]:
    """Return the derived rows: a table, and a chart for each unit that has published values."""
    if not rows:
        return []
    numbers = ["measured", "published", "error"]
    cells = [
        [
            row.interface,
            row.baseline or "",
            row.workload,
            row.take or "",
            wording.three_digits(row.value),
            wording.published(row),
            row.unit,
            _error(row),
        ]
        for row in rows
    ]
    names = ["interface", "against", "over", "take", "measured", "published", "unit", "error"]
    table = Table(
        DERIVED,
        columns(*names, numbers=numbers),
        cells,
        is_folded=len(cells) > LONGEST_TABLE,
    )
    return [*derived_charts(summary, rows), table]


def derived_charts(summary: Summary, rows: list[Row]) -> list[Chart]:
    """Return the derived rows beside their published values, as a chart for each unit."""
    both = [row for row in rows if row.value is not None and row.published_low is not None]
    units = dict.fromkeys(row.unit for row in both)
    return [_pairs(summary, [row for row in both if row.unit == unit], unit) for unit in units]


def beside_published(summary: Summary, rows: list[Row]) -> list[Chart]:
    """Return every chart in which a measured value is beside a published one."""
    measured = [row for row in rows if row.baseline is None and row.value is not None]
    printed = any(row.published_low is not None for row in measured)
    derived = [row for row in rows if row.baseline is not None]
    return [
        *(measured_charts(summary, measured) if printed else []),
        *derived_charts(summary, derived),
    ]


def _pairs(summary: Summary, rows: list[Row], unit: str) -> Chart:
    title = f"Derived values beside published ones, {unit}"
    cells = [
        [label(row), wording.three_digits(row.value), wording.published(row), _error(row)]
        for row in rows
    ]
    numbers = ["measured", "published", "error"]
    return Chart(
        title,
        f"{summary.title}: the measured value as a circle, the published one as a diamond, a"
        " published range as two",
        drawings.pairs([{**drawn(row), "name": label(row)} for row in rows], unit),
        Table(title, columns("row", *numbers, numbers=numbers), cells, is_folded=True),
    )


def _or_nothing(value: float | None) -> str:
    return "" if value is None else wording.three_digits(value)


def _error(row: Row) -> str | Mark:
    text = wording.error(row)
    return Mark(text, "bad") if row.within_limit is False else text
