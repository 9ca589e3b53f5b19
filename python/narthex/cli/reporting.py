"""`narthex report`, and `--report` of the commands that make results."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from narthex import engine, extras
from narthex.cli.console import JSON_OPTION, JsonTarget, check_writable, examples, keeping
from narthex.cli.terminal import say
from narthex.errors import USAGE, NarthexError

if TYPE_CHECKING:
    from narthex.report.parts import Chart

REPORT_OPTION = typer.Option(
    None, "--report", metavar="FILE", help="Write the result as a web page too, into FILE.html."
)
PLOT_OPTION = typer.Option(
    None,
    "--plot",
    metavar="FILE",
    help="Draw the result into FILE: a page (.html), or a picture (.svg, .png).",
)
OPEN_OPTION = typer.Option(False, "--open", help="Open the page of --report in the browser.")
Made = TypeVar("Made")

SUFFIXES = (".html", ".htm")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "report",
        epilog=examples(
            "narthex report result.json",
            "narthex report results/experiments.json --output experiments.html --open",
            "narthex report results --output all.html",
            "narthex report results/queue-size --output queue-size.html",
            "narthex experiment hpca98/roundtrip --report roundtrip.html",
        ),
    )(report)


def report(
    results: list[Path] = typer.Argument(
        ...,
        metavar="RESULTS...",
        help="Files that --json of run, compare, experiment or explain wrote, folders of them, or"
        " a sweep's folder.",
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The page; if not given, the first of RESULTS with .html."
    ),
    open_: bool = typer.Option(False, "--open", help="Open the page in the browser."),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Make one web page of results: tables, charts, claims, ledgers, machines and lives.

    The page holds everything that it shows: it needs no network. In a folder,
    files that are no results are left out and named.
    """
    from narthex import _native
    from narthex import report as pages

    target = JsonTarget(json_file)
    page = ReportTarget(output or default_output(results[0]), "--output", opens=open_)
    found, left_out = pages.read(results)
    made = page.write(found, left_out)
    target.write({"schema": 1, "version": _native.__version__, **made, "left_out": left_out})
    if not target.to_stdout:
        for reason in left_out:
            say(f"left out: {reason}")
        say(f"{made['page']}: {made['bytes']:,} bytes")


def default_output(results: Path) -> Path:
    """Return the page's place if none is given: beside the results."""
    absolute = results.absolute()
    return (
        absolute.with_name(f"{absolute.stem}.html")
        if os.path.isfile(results)
        else (absolute.parent / f"{absolute.name}.html")
    )


class ReportTarget:
    """Where a page is written; made before any work, so that a bad place is found first."""

    def __init__(self, file: Path | None, option: str = "--report", *, opens: bool = False) -> None:
        self._file = file
        self._opens = opens
        if file is None:
            if opens:
                raise NarthexError(f"--open opens the page of {option}: give both", USAGE)
            return
        extras.require("report")
        if file.suffix not in SUFFIXES:
            raise NarthexError(f"'{file}' is no page: its name must end in {' or '.join(SUFFIXES)}")
        check_writable(file, option)
        if engine.is_limited():
            from narthex.charts import library

            library.text()

    def write(self, found: list[Any], left_out: list[str]) -> dict[str, Any]:
        """Write a page of documents that were read; returns its place and size."""
        if self._file is None:
            return {}
        from narthex.report import write

        bytes_ = self.written(lambda file: write(found, file, left_out))
        return {"page": str(self._file), "bytes": bytes_}

    def written(self, write: Callable[[Path], Made]) -> Made | None:
        """Let a page be written, if one is wanted, and open it."""
        if self._file is None:
            return None
        made = write(self._file)
        if self._opens:
            typer.launch(str(self._file))
        return made

    def write_document(self, document: dict[str, Any]) -> None:
        """Write a page of one document, if a page is wanted."""
        if self._file is None:
            return
        from narthex import documents

        with keeping(document, self._file):
            self.write([documents.identify(document, str(self._file))], [])


class PlotTarget:
    """Where `--plot` draws; made before any work, so that a bad place is found first."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        if file is not None:
            from narthex.report import pictures

            pictures.check_file(file)

    def draw(self, document: object, chart: Callable[[], "tuple[Chart, str]"]) -> None:
        """Draw a document's chart under its title, if it is wanted."""
        if self._file is not None:
            from narthex.report import pictures

            with keeping(document, self._file):
                drawn, title = chart()
                pictures.save([drawn], title, self._file)
