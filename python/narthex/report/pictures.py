"""Charts as files: a page that follows the reader's scheme, or an SVG or PNG for a paper."""

import html
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path

from narthex import engine, extras, files
from narthex.charts.standalone import together
from narthex.errors import NarthexError
from narthex.report.parts import Chart, Section, Table

FORMATS = (".html", ".svg", ".png")

PNG_SCALE = 2.0
"""Pixels of a png for each point, so that it is sharp on paper."""


def check_file(file: Path) -> None:
    """Refuse a file that cannot hold a plot."""
    extras.require("report")
    if file.suffix not in FORMATS:
        raise NarthexError(f"'{file}' is no plot: its name must end in {', '.join(FORMATS)}")
    files.check_writable(file, "choose another place for --plot")
    engine.check()


def save(charts: Sequence[Chart], title: str, file: Path, tables: Sequence[Table] = ()) -> None:
    """Draw charts into a file: self-contained HTML, with tables behind them, or SVG or PNG."""
    from narthex.report.page import rendered

    engine.check()
    if file.suffix == ".html":
        parts = [*charts, *tables]
        files.write(file, rendered(title, [Section("Charts", parts)]).encode())
        return
    made = together(charts, title)
    if file.suffix == ".png":
        image = BytesIO()
        made.save(image, format="png", scale_factor=PNG_SCALE)
        files.write(file, image.getvalue())
        return
    text = StringIO()
    made.save(text, format="svg")
    words = html.escape(made.description, quote=True)
    named = text.getvalue().replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)
    files.write(file, named.encode())
