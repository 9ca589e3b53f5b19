"""Tables of what moves what interfaces give a host (`host_costs`), for pages of the documentation.

A page may show the file of a machine, as `title="nic.toml"` in the line that opens the block;
"pcie.md:nic.toml" is that machine.
"""

import atexit
import re
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from narthex import host_costs
from narthex.fitting.tables import Table

_SHOWN = re.compile(r'^```toml title="(.*?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def sensitivity(
    machine: str, sizes: Sequence[int], names: list[str], settings: list[str]
) -> list[Table]:
    """Return a table for each size: a row for each setting, and latency and bandwidth in it."""
    made = []
    for size in sizes:
        rows = [
            [f"`{change[0]}`" if change else "as above", *_cells(machine, size, names, change)]
            for change in ([], *([each] for each in settings))
        ]
        title = f"{size:,} bytes"
        made.append(Table(title, [title, *names], rows, names, []))
    return made


def _cells(machine: str, size: int, names: list[str], change: list[str]) -> list[str]:
    rows = host_costs.measure(machine, size, names, change)
    found = {
        row.interface: f"{rank}: {row.latency_ns:,.0f} ns, {row.bandwidth_mb_s:,.0f} MB/s"
        for rank, row in enumerate(rows, start=1)
    }
    return [found[name] for name in names]


def shown_machine(name: str, pages: Path) -> str:
    """Return a machine, or the file of one that a page of a folder shows."""
    page, is_shown, title = name.partition(":")
    if not is_shown:
        return name
    for shown, text in _SHOWN.findall((pages / page).read_text(encoding="utf-8")):
        (_folder() / shown).write_text(text, encoding="utf-8")
    return str(_folder() / title)


@cache
def _folder() -> Path:
    """Return a folder for files that pages show, which is deleted in the end."""
    folder = tempfile.mkdtemp(prefix="narthex-pages-")
    atexit.register(shutil.rmtree, folder)
    return Path(folder)
