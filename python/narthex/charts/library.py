"""The JavaScript that draws the charts of a page."""

from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from narthex import engine
from narthex.files import write_whole
from narthex.toolchain import cache_folder

LICENCES = Path(__file__).with_name("library-licences.txt")
"""The notices that each copy of the library has to carry; the bundle has none."""


@cache
def text() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed as one script, with its licences."""
    return f"/*!\n{LICENCES.read_text(encoding='utf-8')}*/\n{_bundle()}"


def _bundle() -> str:
    """Return the script; it is kept in the cache folder, and a page needs no engine then."""
    from narthex.extras import altair as alt

    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    kept = cache_folder() / "charts" / f"{version}-{metadata.version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    engine.check()
    from narthex.extras import vl_convert

    made = vl_convert.javascript_bundle(vl_version=version)
    with suppress(OSError):
        write_whole(kept, made.encode())
    return made
