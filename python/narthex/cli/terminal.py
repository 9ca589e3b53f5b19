"""What reaches the terminal.

Names come from guests, files and arguments, and may hold anything: an escape
sequence, half a character. What Narthex says goes through `say`, `tell`, `inform`,
`complain` or `print_table` (`console`), which show such characters by their numbers. What a
guest writes is its own and passes as it is.

Errors are red on a terminal, unless the environment's `NO_COLOR` or `--no-color` says no.
"""

import codecs
import io
import json
import logging
import os
import re
import sys
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from narthex.errors import Caution

if TYPE_CHECKING:
    from rich.console import Console

LEAST_COLUMNS = 100
"""Of tables that go into a file or a pipe."""

_AS_NUMBERS = "narthex-numbers"

_QUIET = "NARTHEX_QUIET"
"""Of the environment, so that a sweep's processes know it, too."""

_UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, formats (which turn the direction of writing), halves, line ends."""


def printable(text: str) -> str:
    """Return a text with what a terminal would obey as numbers, as JSON and TOML write them."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def say(text: str) -> None:
    """Print what is asked for, on standard output."""
    print(printable(text))


def tell(text: str) -> None:
    """Print a message, on standard error."""
    print(f"narthex: {printable(text)}", file=sys.stderr, flush=True)


def inform(text: str) -> None:
    """Print what goes on, on standard error; `--quiet` does without, but for warnings."""
    if isinstance(text, Caution):
        warn([text])
    elif not is_quiet():
        tell(text)


def warn(warnings: Iterable[str]) -> None:
    """Print warnings, each on a line of its own."""
    for warning in warnings:
        tell(f"warning: {warning}")


def complain(text: str) -> None:
    """Print an error, on standard error."""
    import typer

    text = f"narthex: {printable(text)}"
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print(typer.style(text, fg="red") if coloured else text, file=sys.stderr, flush=True)


def be_quiet() -> None:
    """Say nothing of what goes on from now on: neither progress nor notices."""
    os.environ[_QUIET] = "1"


def be_verbose() -> None:
    """Print from now on what the package's modules log: what they call, and what they find."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("narthex: %(message)s"))
    package = logging.getLogger("narthex")
    package.handlers = [handler]
    package.setLevel(logging.DEBUG)


def is_quiet() -> bool:
    """Tell whether only results, warnings and errors are wanted."""
    return bool(os.environ.get(_QUIET))


def do_without_colour() -> None:
    """Use no colour from now on; Rich reads the same variable."""
    os.environ["NO_COLOR"] = "1"


def show_what_cannot_be_encoded() -> None:
    """Print a character that the locale cannot encode as its number, instead of an error."""
    codecs.register_error(_AS_NUMBERS, _numbers)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_AS_NUMBERS)


def _numbers(error: UnicodeError) -> tuple[str, int]:
    """Write what cannot be encoded so that JSON stays JSON."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def forget_sizes_that_are_no_numbers() -> None:
    """Leave out a COLUMNS or LINES that would end Rich, or us."""
    for name in ("COLUMNS", "LINES"):
        if not re.fullmatch("[0-9]{1,5}", os.environ.get(name, "0")):
            del os.environ[name]


def console() -> "Console":
    """Return a console for tables on standard output."""
    from rich.console import Console

    wide = max(LEAST_COLUMNS, int(os.environ.get("COLUMNS", LEAST_COLUMNS)))
    return Console(width=None if sys.stdout.isatty() else wide, highlight=False, markup=False)


def _shown(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _UNPRINTABLE:
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"
