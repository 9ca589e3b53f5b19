"""For mkdocs: links to source files, which are no part of the site, become their text.

In the repository such a link leads to the file. On the site it would lead
nowhere, so only its words remain; a link to a page that does not exist stays
what it is, and the build fails.
"""

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:  # noqa: ANN401
    """Take the links to files outside of the site from a page."""
    docs = Path(config["docs_dir"]).resolve()
    here = (docs / page.file.src_path).parent

    def without_source(link: re.Match[str]) -> str:
        target = (here / link[2]).resolve()
        is_source = target.exists() and not target.is_relative_to(docs)
        return link[1] if is_source else link[0]

    return _LINK.sub(without_source, markdown)
