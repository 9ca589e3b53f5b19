"""Puts the figures of a bench into docs/performance.md: `python -m benchmarks.page`.

No test can make them again, as it makes other tables of the documentation: they
are of one machine on one day, and the page says which.
"""

import re
import sys
from pathlib import Path

from benchmarks import document, table
from benchmarks.__main__ import RESULT
from benchmarks.document import Document
from narthex.documentation import DOCS, markdown_table
from narthex.errors import NarthexError

PAGE = DOCS / "performance.md"
_PART = re.compile(r"(?<=<!-- measured by make bench -->\n).*?(?=^<!-- end -->$)", re.M | re.S)

GROUPS = (
    "a miss with its write-back",
    "a message of 64 bytes",
    "programs: time",
    "programs: executed",
    "threads",
    "neighbours: time a message",
)
"""What the page shows: what a study takes. The others are for those who change the simulator."""


def figures(found: Document) -> str:
    """Return the part of the page that shows what was measured, and on what."""
    shown = [measure for measure in found.measures if measure.group in GROUPS]
    rows = [[measure.group, *table.cells(measure)] for measure in shown]
    lines = markdown_table(["group", *table.COLUMNS], rows, table.RIGHT)
    left_out = [f"Left out: {step}: {reason}." for step, reason in found.left_out.items()]
    host = found.host
    where = f"{host['cores']} cores of {host['processor']}, {host['system']}"
    what = "Quick bench: few samples, small programs. " if found.quick else ""
    when = f"{what}Version {found.version} ({found.revision}), {found.date[:10]}, on {where}."
    return "\n".join(["", when, *left_out, "", *lines, "", ""])


def filled(page: str, found: Document) -> str:
    """Return the page with the figures of a bench in their place."""
    if not _PART.search(page):
        raise NarthexError("the page has no place for what `make bench` has measured")
    return _PART.sub(lambda _: figures(found), page, count=1)


def main() -> None:
    """Fill in the page from the last bench, or from the one that is named."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT
    try:
        page = filled(PAGE.read_text(encoding="utf-8"), document.read(file))
    except NarthexError as error:
        sys.exit(f"benchmarks.page: {error}")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
