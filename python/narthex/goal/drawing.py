"""The space-time drawing of a schedule that the fitted model has executed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from narthex.report.parts import Chart

TITLE = "A schedule on the fitted model"


def chart(document: dict[str, Any]) -> "Chart":
    """Return the drawing of an execution with `timeline`, and the times as a table."""
    from narthex.charts.spacetime import space_time, time_unit
    from narthex.report.parts import Cell, Chart, Table, columns, number

    operations = document["operations"]
    unit, ps = time_unit(max((each["over_ps"] for each in operations), default=0))
    spans = [span for each in operations for span in _spans(each, ps)]
    messages = [_message(each, ps) for each in operations if each["kind"] == "send"]
    times = [f"begin, {unit}", f"over, {unit}"]
    cells: list[list[Cell]] = [
        [
            str(each["rank"]),
            each["operation"],
            _words(each),
            *(number(each[key] / ps, 3) for key in ("begin_ps", "over_ps")),
        ]
        for each in operations
    ]
    named = columns("rank", "operation", "is", *times, numbers=times)
    return Chart(
        f"{Path(document['schedule']['name']).name} on {document['interface']}",
        "What each rank's processor is engaged with, and messages as lines from their send to where"
        " they are handled",
        space_time(spans, messages, len(document["finish_ns"]), unit),
        Table("Operations: a receive begins when it is posted", named, cells, is_folded=True),
    )


def _words(operation: dict[str, Any]) -> str:
    """Return an operation as GOAL's text has it, without its time or tag."""
    if operation["kind"] == "calc":
        return "calc"
    direction = "to" if operation["kind"] == "send" else "from"
    return f"{operation['kind']} {operation['bytes']}b {direction} {operation['peer']}"


def _spans(operation: dict[str, Any], ps: int) -> list[dict[str, Any]]:
    """Return what processors are engaged with for an operation: a send engages two."""

    def span(rank: int, kind: str, begin_ps: int, end_ps: int) -> dict[str, Any]:
        words = f"rank {operation['rank']}, {operation['operation']}: {_words(operation)}"
        times = {"begin": begin_ps / ps, "end": end_ps / ps}
        return {"rank": rank, "kind": kind, **times, "operation": words}

    rank, begin_ps = operation["rank"], operation["begin_ps"]
    if operation["kind"] == "calc":
        return [span(rank, "calculation", begin_ps, operation["over_ps"])]
    if operation["kind"] == "recv":
        return []
    return [
        span(rank, "send", begin_ps, operation["engaged_until_ps"]),
        span(operation["peer"], "receive", *operation["handled_ps"]),
    ]


def _message(send: dict[str, Any], ps: int) -> dict[str, Any]:
    handled_ps, _ = send["handled_ps"]
    return {
        "from_rank": send["rank"],
        "to_rank": send["peer"],
        "sent": min(send["engaged_until_ps"], handled_ps) / ps,
        "handled": handled_ps / ps,
        "operation": f"rank {send['rank']}, {send['operation']}: {_words(send)}",
    }
