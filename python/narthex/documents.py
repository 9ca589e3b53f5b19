"""The documents of results: what `--json` writes, and what reads it again.

    Result, Comparison, Outcome, Explanation ── save ──> FILE.json ── load ──> the same
                                                                    └─ read ──> a page

The documents say their schema's number but not their kind; each kind has a key
that no other has. What is no result is refused, and so is one that has not the
layout of its kind (`layouts`). A folder is read file by file: what is no result
there is left out and named, so that one broken file costs no other its place.
"""

import html
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from narthex import _native, arguments, files, notation
from narthex.errors import NarthexError

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class Kind:
    """A kind of document."""

    name: str
    key: str
    """What only this kind has."""
    schema: int
    command: str
    """What writes it."""


RUN = Kind("run", "nodes", 3, "narthex run ... --json FILE")
COMPARISON = Kind("comparison", "runs", 2, "narthex compare ... --json FILE")
EXPERIMENTS = Kind("experiments", "summaries", 2, "narthex experiment ... --json FILE")
EXPLANATION = Kind("explanation", "breakdown", 3, "narthex explain ... --json FILE")
FIT = Kind("fit", "fits", 1, "narthex fit logp ... --json FILE")
CHECK = Kind("check", "checks", 2, "narthex check ... --json FILE")
INTERFERENCE = Kind("interference", "matrix", 1, "narthex interfere ... --json FILE")
LARGEST_BYTES = 1 << 30
"""Of a result's file. A run on 4,096 nodes is about 12 MB, besides what its program wrote."""

KINDS = (RUN, COMPARISON, EXPERIMENTS, EXPLANATION, FIT, CHECK, INTERFERENCE)

SWEEP = Kind("sweep", "folder", 1, "narthex sweep FILE")
"""No file, but a folder, which its document names."""


class HasDocument(Protocol):
    """What can be saved."""

    @property
    def document(self) -> dict[str, Any]:
        """All of it, as JSON has it."""


class Saved:
    """What is saved as its document."""

    def to_json(self: HasDocument) -> str:
        """Return the document as text, as `--json` writes it."""
        return text(self.document)

    def save(self: HasDocument, path: arguments.Path) -> Path:
        """Write the document into a file, as `--json` does; returns the file.

        The file appears whole or not at all. Raises `NarthexError` where it
        cannot be written.
        """
        file = Path(arguments.text("path", path))
        files.write(file, text(self.document).encode())
        return file

    def report(self: HasDocument, path: arguments.Path) -> Path:
        """Write the page of this result, which needs no network; returns the file.

        >>> import narthex
        >>> narthex.run("roundtrip", 8, 4, 1, nodes=2).report("roundtrip.html").name
        'roundtrip.html'
        """
        from narthex import report

        file = Path(arguments.text("path", path))
        report.write([identify(self.document, str(file))], file)
        return file


def in_notebook(title: str, frame: "polars.DataFrame") -> str:
    """Return what a notebook shows of a result: its title and a table."""
    return f"<strong>{html.escape(title)}</strong>{frame._repr_html_()}"


class Loaded(Saved):
    """What is read again from its document."""

    kind: ClassVar[Kind]

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Make it of a document of its kind."""
        raise NotImplementedError


def text(document: object) -> str:
    """Return a document as text; numbers that are not finite become texts."""
    try:
        found = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:
        found = json.dumps(_in_json(document), indent=2, ensure_ascii=False)
    return f"{found}\n"


def _in_json(part: Any) -> Any:  # noqa: ANN401 - any part of a document
    if isinstance(part, dict):
        return {key: _in_json(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_in_json(value) for value in part]
    return notation.for_json(part) if isinstance(part, float) else part


@dataclass(frozen=True)
class Found:
    """A document, what kind it is of, and where it was."""

    kind: Kind
    document: dict[str, Any]
    place: str = "the result"
    """Its file, for messages."""


def read(places: Iterable[Path]) -> tuple[list[Found], list[str]]:
    """Read files and folders of results; returns what they hold and what was left out.

    Raises `NarthexError` for a file that is named and no result, and for a
    folder without any.
    """
    found: list[Found] = []
    left_out: list[str] = []
    for place in places:
        if (place / "sweep.json").is_file():
            found.append(read_sweep(place))
        elif os.path.isdir(place):
            some, others = _read_folder(place)
            found += some
            left_out += others
        else:
            found.append(read_file(place))
    return found, left_out


def read_sweep(folder: Path) -> Found:
    """Read the folder of a sweep."""
    from narthex.report.sweeps import document_of

    return Found(SWEEP, document_of(folder), str(folder))


def identify(document: object, place: str) -> Found:
    """Return a document with its kind, of the schema that this version reads."""
    if not isinstance(document, dict):
        raise NarthexError(f"'{place}' is no result: {_expected()}")
    kind = next((kind for kind in KINDS if isinstance(document.get(kind.key), list)), None)
    if kind is None:
        keys = _short(", ".join(list(document)[:6]) or "nothing")
        raise NarthexError(f"'{place}' is no result (it has {keys}): {_expected()}")
    schema = document.get("schema")
    if schema != kind.schema:
        maker = document.get("version", "another version")
        raise NarthexError(
            f"'{place}' is a result of kind '{kind.name}' with schema {_short(schema)},"
            f" by narthex {_short(maker)};"
            f" narthex {_native.__version__} reads schema {kind.schema}:"
            f" make it again with '{kind.command}'"
        )
    return Found(kind, document, place)


@contextmanager
def needed_whole(found: Found) -> Iterator[None]:
    """Refuse a document if what is done here finds that it lacks something of its kind."""
    try:
        yield
    except (
        LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError,
    ) as error:  # fmt: skip
        lacks = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
        raise NarthexError(
            f"'{found.place}' is not a whole result of kind '{found.kind.name}': {lacks};"
            f" make it again with '{found.kind.command}'"
        ) from error


def _read_folder(folder: Path) -> tuple[list[Found], list[str]]:
    there = sorted(folder.glob("*.json"))
    if not there:
        raise NarthexError(f"the folder '{folder}' holds no file *.json: {_expected()}")
    found, left_out = [], []
    for file in there:
        if not file.is_file():
            left_out.append(f"'{file}' is no file")
            continue
        try:
            found.append(read_file(file))
        except NarthexError as error:
            left_out.append(str(error))
    if not found:
        raise NarthexError(f"the folder '{folder}' holds no result: {left_out[0]}")
    return found, left_out


def read_file(file: Path) -> Found:
    """Read a file of a result; refuse what is none, and what is not whole."""
    if not os.path.exists(file):  # which raises nothing, whatever the name
        raise NarthexError(f"'{file}' does not exist: {_expected()}")
    return parse(files.read(file, "a result", LARGEST_BYTES), str(file))


def parse(data: bytes, place: str) -> Found:
    """Return the document that JSON holds, checked against the layout of its kind."""
    from narthex import layouts

    try:
        found = identify(layouts.decoded(data), place)
    except ValueError as error:
        raise NarthexError(
            f"'{place}' is not whole JSON: {str(error).removeprefix('JSON is malformed: ')};"
            " perhaps it was cut off or damaged: make it again"
        ) from None
    except RecursionError:
        raise NarthexError(f"'{place}' is nested too deeply to be a result") from None
    with needed_whole(found):
        layouts.check(found.document, found.kind.name)
    return found


def _short(value: object) -> str:
    """Print what a file says of itself, which may be anything."""
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _expected() -> str:
    return (
        "expected is what --json of narthex run, compare, experiment, explain, fit, check or"
        " interfere writes"
    )
