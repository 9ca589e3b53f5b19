"""The JavaScript that draws the charts of a page."""

from contextlib import suppress
from functools import cache
from importlib import metadata

from narthex import engine
from narthex.files import write_whole
from narthex.toolchain import cache_folder


@cache
def text() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed as one script.

    It is kept in the cache folder: a page needs no engine once it is there.
    """
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
