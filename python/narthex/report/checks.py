"""The section of a check: what was explored, what is proven, and a counter-example as a sequence.

    step        cache A        the bus        cache B
    1           o                                            cache A loads: asks Read
    2           ◄──────────────                              the bus grants cache A: Read

A counter-example is told in sentences. Those of all checkers name the parts of their
system in the words of `PARTS`; a part that any step names has a lane, and an arrow leads
from the part that a sentence names first to the next one.
"""

import re
from collections.abc import Sequence
from typing import Any

from narthex.report.lives import Diagram, Step
from narthex.report.parts import (
    Cell,
    Facts,
    Mark,
    Paragraph,
    Section,
    Table,
    bar,
    columns,
    number,
)

PARTS = re.compile(
    r"\b(?:cache [A-Z](?:'s processor)?|node \d+|tile \d+|processor \d+"
    r"|the (?:home|processor|program|host|firmware|device|interface|network|bus"
    r"|memory bus|I/O bus|send half|receive half|bridge)|home memory|a device|the directory)\b"
)
"""How sentences name who does something."""

REST = "the system"
"""The lane of steps that name no part."""

HOLDS, FAILS, UNDECIDED = Mark("holds", "good"), Mark("FAILS", "bad"), Mark("undecided", "plain")

WAY = (
    "The shortest way to the violation. An arrow leads from the part that a step names first to"
    " the next one; the last step shows what is wrong."
)


def sections(document: dict[str, Any]) -> list[Section]:
    """Describe each check; several have a table of them all in front."""
    checks = document["checks"]
    made = [_section(check, document["version"]) for check in checks]
    if len(checks) > 1:
        made.insert(0, Section(f"{len(checks)} checks", [_overview(checks)]))
    left_out = document["left_out"]
    if left_out:
        rows = [[name, reason] for name, reason in left_out.items()]
        made.append(
            Section("Not checked", [Table("Not checked", columns("what", "reason"), list(rows))])
        )
    return made


def verdict(check: dict[str, Any]) -> Mark:
    """Say how a check went."""
    if check["counter_example"]:
        return FAILS
    return HOLDS if check["complete"] else UNDECIDED


def title(check: dict[str, Any]) -> str:
    """Name what was checked, and what was left out of it or changed."""
    without = f" without {check['without']}" if check["without"] else ""
    changed = f" with '{check['changed']}'" if check.get("changed") else ""
    return f"{check['interface']}{without}{changed}"


def _section(check: dict[str, Any], version: str) -> Section:
    facts = [
        ("Verdict", verdict(check)),
        ("States", number(check["states"])),
        ("Form", check["form"]),
        ("Rule left out", check["without"] or check.get("changed") or "none"),
        ("Time of the check", f"{check['elapsed_us'] / 10**6:,.2f} s"),
        ("Narthex", version),
    ]
    parts: list[Any] = [Facts(facts)]
    sections = [Section("What was explored", [_explored(check["explorations"])])]
    example = check["counter_example"]
    if example:
        parts.append(Paragraph(f"Violated: {example['violated']}."))
        sections.insert(0, Section("Counter-example", [Paragraph(WAY), sequence(example)]))
    elif check["proven"]:
        rows = [[sentence] for sentence in check["proven"]]
        parts.append(Table("Proven in every state", columns("property"), list(rows)))
    else:
        undecided = "There are more states than allowed (--states): nothing is proven."
        parts.append(Paragraph(undecided))
    return Section(f"Check of {title(check)}", parts, sections, mark=verdict(check))


def _explored(explorations: list[dict[str, Any]]) -> Table:
    names = ["states", "transitions", "depth"]
    largest = max(each["states"] for each in explorations)
    cells: list[list[Cell]] = [
        [
            each["traffic"], bar("states", each["states"], largest),
            *(number(each[name]) for name in names),
            Mark("all", "good") if each["complete"] else Mark("not all", "plain"),
        ]
        for each in explorations
    ]  # fmt: skip
    named = columns("what happens", "", *names, "visited", numbers=names)
    return Table("Explorations: states visited, events tried, the longest way", named, cells)


def _overview(checks: list[dict[str, Any]]) -> Table:
    largest = max(check["states"] for check in checks)
    cells: list[list[Cell]] = [
        [
            title(check), verdict(check), bar("states", check["states"], largest),
            number(check["states"]), _seconds(check),
        ]
        for check in checks
    ]  # fmt: skip
    names = columns("what", "verdict", "", "states", "s", numbers=["states", "s"])
    failed = sum(verdict(check) is FAILS for check in checks)
    return Table(f"Checks: {failed} of {len(checks)} fail", names, cells)


def _seconds(check: dict[str, Any]) -> str:
    return f"{check['elapsed_us'] / 10**6:,.2f}"


def sequence(example: dict[str, Any]) -> Diagram:
    """Return a counter-example as rows under the lanes of the parts that it names."""
    ways = [_parts(told) for told in example["steps"]]
    lanes = tuple(dict.fromkeys(part for way in ways for part in way))
    rows = [
        Step(
            time=str(place),
            who="",
            what=told,
            meaning=_meaning(example, place),
            source=lanes.index(way[0]),
            target=lanes.index(way[-1]),
            is_broken=False,
            is_beside=False,
        )
        for place, (told, way) in enumerate(zip(example["steps"], ways, strict=True), 1)
    ]
    caption = f"{len(rows)} steps to a violation: {example['violated']}"
    return Diagram(caption, rows, lanes=lanes, unit="step")


def _parts(told: str) -> Sequence[str]:
    """Return the part that a sentence names first and the next other one, if there are any."""
    named = [part.replace("a device", "the device") for part in PARTS.findall(told)]
    return list(dict.fromkeys(named))[:2] or [REST]


def _meaning(example: dict[str, Any], place: int) -> str:
    if place < len(example["steps"]):
        return f"Step {place} of {len(example['steps'])}."
    return f"Here is violated: {example['violated']}."
