"""One self-contained HTML page from results: `narthex report`.

    documents          sections              page
    run          ──►   heading               template + style.css + script.js
    comparison         facts, tables,  ──►   + Vega, once          ──►  FILE.html
    experiments        charts, a life        (nothing is fetched)
    explanation

`narthex.documents` reads files; `runs`, `comparisons`, `experiments`,
`machines` and `lives` turn documents into the parts that `parts` defines;
`charts` draws with Vega-Altair; `page` puts all of it into the template. Every
chart has a table of the same numbers behind it, and the page works without its
script as far as it can: tables, text and the messages' lives need none.
"""

from narthex.documents import Found, read
from narthex.report.page import page, write

__all__ = ["Found", "page", "read", "write"]
