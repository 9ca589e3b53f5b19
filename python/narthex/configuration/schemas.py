"""JSON Schemas with which editors complete and check files while they are written.

A TOML file whose first line is `#:schema ./NAME` is checked against the schema
in NAME by editors that know the directive, such as VS Code with Even Better
TOML, and by `taplo` (docs/machine-files.md).

The schema of machines is the simulator's. That of sweeps is derived from the
dataclasses that read them: types, words and defaults from the fields, meanings
from the texts below them.
"""

import ast
import inspect
import json
import textwrap
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from narthex.arguments import RANGES

MACHINE_SCHEMA = "machine.schema.json"
"""What the schema of machines is called beside a new machine's file."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}


def machine() -> dict[str, Any]:
    """Return the schema of machines' files."""
    from narthex import _native

    return json.loads(_native.schema())


def sweep() -> dict[str, Any]:
    """Return the schema of sweeps' files."""
    from narthex.sweeps.axes import Listed, Range
    from narthex.sweeps.definition import NUMBERS, RUN_KEYS, Definition

    values = {
        "type": "array",
        "items": {"type": ["string", "number", "boolean"]},
        "minItems": 1,
        "description": "Each of these values.",
    }
    listed = table(Listed, {"values": values}) | {"required": ["values"]}
    parameters = {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/parameter"},
        "description": "Every value of each with every value of the others. A name with a dot is"
        f" a key of the machine (bus.clock); one of {', '.join(RUN_KEYS)} takes the place of that"
        " key above; any other stands in braces somewhere: {bytes}.",
    }
    together = {
        "type": "array",
        "items": {"$ref": "#/$defs/parameters"},
        "description": "Parameters that vary together, value by value.",
    }
    schema = table(Definition, {"parameters": parameters, "zip": together})
    del schema["required"]  # a name is the file's, and a program can be a parameter
    for key in NUMBERS:
        schema["properties"][key]["minimum"] = RANGES[key].start
        schema["properties"][key]["maximum"] = RANGES[key].stop - 1
    return {
        "$schema": _DIALECT,
        "title": "A sweep of narthex",
        **schema,
        "$defs": {
            "parameters": parameters,
            "parameter": {"anyOf": [values, listed, table(Range), {"$ref": "#/$defs/parameters"}]},
        },
    }


def table(kind: type, others: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of a table that `strict.table` reads as this dataclass.

    `others` are keys that are read elsewhere, maybe in place of fields.
    """
    hints, meanings = get_type_hints(kind), _meanings(kind)
    properties, required = dict(others or {}), []
    for field in fields(kind):
        key = field.name.rstrip("_")
        if key in properties:
            continue
        properties[key] = _of(hints[field.name]) | _told(field, meanings.get(field.name))
        if field.default is MISSING and field.default_factory is MISSING:
            required.append(key)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def _told(field: "Field[Any]", meaning: str | None) -> dict[str, Any]:
    """Return a field's meaning and default, as far as there are any."""
    told: dict[str, Any] = {"description": meaning} if meaning else {}
    if field.default is not MISSING and field.default is not None:
        told["default"] = field.default
    return told


def _of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any type that files need
    """Return the schema of one value, as `strict` takes it."""
    if get_origin(kind) is UnionType:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is list:
        return {"type": "array", "items": _of(get_args(kind)[0])}
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    if not is_dataclass(kind):
        return {"type": _PLAIN[kind]}
    first = get_type_hints(kind)[fields(kind)[0].name]
    return {"anyOf": [table(kind), _of(first)]} if first in _PLAIN else table(kind)


@cache
def _meanings(kind: type) -> dict[str, str]:
    """Return the texts below a dataclass's fields, by field."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    found = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[field.target.id] = " ".join(text.value.split())
    return found
