"""The page of a timeline: `narthex run ... --trace FILE.html`.

    page.html, style.css ─┐                      ┌─ data: a trace of Perfetto, compressed,
    palette ──────────────┼─► before │ after     │  in base64, which Rust writes between
    decode, rows, draw,   │          ▼           ▼
    input, view, start ───┘        FILE.html, which needs nothing else

The page is one file without a network. Its data are what `--trace FILE.pftrace.gz` holds
(observation/src/trace/perfetto), so there is one format of timelines; `decode.js` turns
them into typed arrays, `rows.js` sorts those into lanes, `draw.js` draws what is on the
screen, `view.js` and `input.js` follow the reader. (No viewer in a package registry has
rows of nodes, arrows and exact picoseconds and is small: Perfetto's own is a site of
tens of megabytes, flame-graph widgets have no arrows and no numbers.)
"""

from pathlib import Path
from string import Template

from narthex import _native
from narthex.charts import palette

FILES = Path(__file__).parent / "page"
SCRIPTS = ("decode.js", "rows.js", "draw.js", "input.js", "view.js", "start.js")

MOST_EVENTS = 4_000_000
"""Of a page. A browser opens this many in a few seconds and keeps some 400 MB for them."""

AFTER = "</script>\n</body>\n</html>\n"


def page() -> dict[str, str | int]:
    """Return what a timeline's request says of its page: what stands around the data."""
    before = Template(_text("page.html")).substitute(
        version=_native.__version__,
        style=palette.style_sheet() + _text("style.css"),
        script="\n".join(map(_text, SCRIPTS)),
    )
    return {"before": before, "after": AFTER, "most_events": MOST_EVENTS}


def _text(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")
