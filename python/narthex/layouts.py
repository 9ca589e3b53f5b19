"""The layouts of results, as types: what a file has to hold to be a result.

What a document has, its reader relies on: lists that are not empty, numbers
that a column of 64 bits holds, texts where texts are. `msgspec` checks a file
against the layout of its kind and names the place of the first mistake. Keys
that no layout knows stay as they are, and so does all of a machine but its
name: the present simulator says what it does not know of one. The layouts of
runs, explanations and checks are made of the JSON Schemas that the simulator has of them, and
layouts of experiments are their classes.

Nothing is imported from here before a file is read.
"""

import functools
import json
import operator
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

import msgspec

from narthex import _native
from narthex.validation.outcome import Claim, Failure, Summary
from narthex.validation.rows import Row
from narthex.validation.sensitivity import Varied
from narthex.validation.variations import Untried

Made = TypeVar("Made")

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Number = float | Literal["NaN", "Infinity", "-Infinity"]
Ledger = dict[str, Positive]

Schema = dict[str, Any]


def of_schema(schema: Schema, name: str = "Entry") -> Any:  # noqa: ANN401 - a type
    """Return the type of what a JSON Schema of the simulator's describes.

    It knows what the simulator uses: objects, lists, pairs, alternatives, plain values.
    """
    if "anyOf" in schema:
        return _either(of_schema(each) for each in schema["anyOf"])
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kinds = schema.get("type")
    if kinds is None:
        return Any
    if isinstance(kinds, list):
        return _either(of_schema({**schema, "type": each}) for each in kinds)
    found = _KINDS[kinds](schema, name)
    least = schema.get("minItems", schema.get("minProperties"))
    is_pair = "prefixItems" in schema
    return Annotated[found, msgspec.Meta(min_length=least)] if least and not is_pair else found


def _either(types: Iterable[Any]) -> Any:  # noqa: ANN401 - a type
    return functools.reduce(operator.or_, types)


def _object(schema: Schema, name: str) -> Any:  # noqa: ANN401 - a type
    if "properties" not in schema:
        inner = schema.get("additionalProperties")
        return dict[str, of_schema(inner) if isinstance(inner, dict) else Any]
    needed = schema.get("required", [])
    keys = {
        key: of_schema(each) if key in needed else NotRequired[of_schema(_without_null(each))]
        for key, each in schema["properties"].items()
    }
    return TypedDict(name, keys)


def _without_null(schema: Schema) -> Schema:
    """Return the schema of what is left out, and never null, where there is nothing to say."""
    found = dict(schema)
    if isinstance(schema.get("type"), list):
        (found["type"],) = (each for each in schema["type"] if each != "null")
    if "anyOf" in schema:
        found["anyOf"] = [each for each in schema["anyOf"] if each != {"type": "null"}]
    return found


def _list(schema: Schema, name: str) -> Any:  # noqa: ANN401 - a type
    if "prefixItems" in schema:
        return tuple[tuple(map(of_schema, schema["prefixItems"]))]
    return list[of_schema(schema["items"], name)]


def _whole(schema: Schema, _name: str) -> Any:  # noqa: ANN401 - a type
    """Return whole numbers as far as a column of 64 bits holds them."""
    least = schema.get("minimum", -(2**63))
    return Annotated[int, msgspec.Meta(ge=least, le=2**63 - 1)]


_KINDS: dict[str, Callable[[Schema, str], Any]] = {
    "object": _object,
    "array": _list,
    "integer": _whole,
    "number": lambda _schema, _name: float,
    "string": lambda _schema, _name: str,
    "boolean": lambda _schema, _name: bool,
    "null": lambda _schema, _name: None,
}

_RUN = json.loads(_native.run_layout())

Run = of_schema(_RUN, "Run")
"""The document of a run, as machine/src/run/document.rs has it."""

RanJob = of_schema(_RUN["properties"]["jobs"]["items"], "RanJob")
"""A job that ran beside others."""

Explanation = of_schema(json.loads(_native.explanation_layout()), "Explanation")
"""The document of an explanation, as observation/src/explain/document.rs has it."""

Check = of_schema(json.loads(_native.check_layout()), "Check")
"""What a check has found, as checking/src/report.rs has it."""


class Named(TypedDict):
    """What a machine is called."""

    name: str


class OfNamed(TypedDict):
    """A machine that has a name."""

    machine: Named


class OfMachine(TypedDict):
    """What names its machine."""

    machine: OfNamed


class Rank(TypedDict):
    """An interface's place in a comparison; one without a value has a reason."""

    rank: Whole | None
    interface: str
    status: Literal["ranked", "failed", "left out"]
    measure: str
    value: Number | None
    unit: str
    times_best: float | None
    reason: str | None
    exit_code: Whole


class Comparison(TypedDict):
    """The document of a comparison."""

    version: str
    rows: Annotated[list[Rank], msgspec.Meta(min_length=1)]
    runs: Annotated[list[Run], msgspec.Meta(min_length=1)]


class CellLedger(TypedDict):
    """Where the time of a cell's runs went."""

    experiment: str
    interface: str
    workload: str
    ledger_ps: Ledger


class ExperimentMachines(TypedDict):
    """What summaries of experiments say about their machines."""

    summaries: list[OfMachine]


class Experiments(TypedDict):
    """The document of experiments."""

    version: str
    rows: list[Row]
    claims: list[Claim]
    summaries: Annotated[list[Summary], msgspec.Meta(min_length=1)]
    failures: list[Failure]
    ledgers: NotRequired[list[CellLedger]]
    varied: NotRequired[list[Varied]]
    untried: NotRequired[list[Untried]]


class Interval(TypedDict):
    """A parameter and its confidence interval."""

    value: float
    low: float
    high: float


class Measured(TypedDict):
    """What one run of a fit measured."""

    size: Positive
    seed: Whole
    send_overhead_ns: float
    receive_overhead_ns: float
    one_way_ns: float
    bursts_ns: Annotated[dict[str, float], msgspec.Meta(min_length=3)]
    issues_ns: dict[str, float]
    late: Whole


class Converted(TypedDict):
    """A fit in the arguments of LogGOPSim."""

    arguments: str
    largest_error_percent: float
    largest_error_at_bytes: Whole


class FitEntry(TypedDict):
    """The fit of an interface."""

    interface: str
    parameters: dict[str, Interval]
    cautions: list[str]
    loggopsim: Converted
    measurements: Annotated[list[Measured], msgspec.Meta(min_length=4)]
    machine: OfNamed
    binary_sha256: str


class Fits(TypedDict):
    """The document of fits."""

    version: str
    level: float
    fits: Annotated[list[FitEntry], msgspec.Meta(min_length=1)]


class Checks(TypedDict):
    """The document of checks."""

    version: str
    checks: Annotated[list[Check], msgspec.Meta(min_length=1)]
    left_out: dict[str, str]


class Beside(TypedDict):
    """What a job takes beside others, and alone."""

    job: str
    beside: str
    measure: str
    unit: str
    alone: Number
    value: Number
    slowdown: float | None


class Interference(TypedDict):
    """The document of what jobs cost each other."""

    version: str
    machine: str
    interface: str
    nodes: Positive
    jobs: Annotated[list[RanJob], msgspec.Meta(min_length=2)]
    matrix: Annotated[list[Beside], msgspec.Meta(min_length=2)]


LAYOUTS = {
    "run": [Run],
    "comparison": [Comparison],
    "experiments": [Experiments, ExperimentMachines],
    "explanation": [Explanation],
    "fit": [Fits],
    "check": [Checks],
    "interference": [Interference],
}
"""By kind of document: all of them hold."""


def decoded(data: bytes) -> object:
    """Return what JSON holds; raises `ValueError`, and `RecursionError` if it is too deep."""
    return msgspec.json.decode(data)


def check(document: object, kind: str) -> None:
    """Check a document against the layout of its kind; raises `ValueError` that names the place."""
    for layout in LAYOUTS[kind]:
        msgspec.convert(document, layout)


def made(kind: type[Made], entry: object) -> Made:
    """Return an entry of a document as the class that it was made of."""
    return msgspec.convert(entry, kind)
