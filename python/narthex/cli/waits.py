"""What a run waited for, in the terminal: its first table."""

from typing import Any

from narthex import notation, waits
from narthex.cli.tables import print_table
from narthex.cli.terminal import say
from narthex.results import PS_PER_US


def show(document: dict[str, Any]) -> None:
    """Print the top waits of the region that took longest, or else of the run, if there are any."""
    if not waits.has_waits(document):
        return
    region = waits.longest_region(document)
    found = waits.ranked(document, region)
    if not found:
        return
    rows = [
        (
            wait.cause,
            wait.who,
            notation.text(wait.time_ps / PS_PER_US),
            "" if wait.share is None else f"{100 * wait.share:.1f}",
            waits.in_words(wait.activities),
            waits.in_words(wait.places),
        )
        for wait in found[: waits.MOST]
    ]
    of = f"In region '{region}', " if region else ""
    names = ["for", "who", "us", "% of time", "while", "where"]
    title = f"{of}waited for most" if of else "Waited for most"
    print_table(title, names, rows, names[2:4], prose=names[4:], optional=names[:3:-1])
    more = len(found) - waits.MOST
    if more > 0:
        say(f"not shown: {notation.counted(more, 'more wait')}; --json FILE has them all")
    say(f"the instants: add {waits.timeline_options(document, found[0], region)}")
    say(f"a message's life: {waits.life_command(document)}\n")
