"""The language of claims: comparisons of measured values, and nothing else.

    'CNI32Qm' < 'CNI512Q' < 'NI2w'
    'NI2w' / 'CNI32Qm' - 1 <= 3.42
    max('CNI512Q', 'CNI32Qm') < 'NI2w'
    'CNI32Qm' < 'CNI32Qm @ 4096 bytes'
    mean('CNI32Qm' / 'CNI0Qm') < 0.5

A text stands for the measured value of that interface at the workload that is
looked at, or at the workload named behind `@`. Comparisons (chained as in
mathematics), `and`, `or`, `not`, + - * /, numbers, parentheses, `min`, `max`,
`abs`, and `mean` of one value over all workloads of the claim: the grammar is
Python's, read by its parser and walked here node by node, so a claim cannot do
anything else, whatever the file says.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from narthex.errors import NarthexError, shown, unknown
from narthex.notation import mean

Cell = tuple[str, str]
"""An interface and a workload."""

Values = Mapping[Cell, float | None]
"""Measured values; none where the run failed."""


MOST_PARTS = 500
"""Names, numbers, operators and functions of an expression, which are walked one in the other."""

LARGEST = 1e300
"""That a number in an expression can be."""


class NoValueError(NarthexError):
    """An expression needs a value that its run did not give."""


_OPERATIONS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_RELATIONS: dict[type, Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs}


@dataclass(frozen=True)
class At:
    """Where an expression is looked at."""

    workload: str
    workloads: Sequence[str] = ()
    """Those that a mean is over: all of the claim."""


def check(expression: str, cells: Iterable[Cell], workloads: Sequence[str], place: str) -> None:
    """Refuse a claim that is not of the language or names what is not measured."""
    _try(holds, expression, cells, workloads, place)


def check_value(
    expression: str, cells: Iterable[Cell], workloads: Sequence[str], place: str
) -> None:
    """Refuse a value that is not of the language or names what is not measured."""
    _try(value, expression, cells, workloads, place)


def _try(
    evaluate: Callable[[str, Values, At], object],
    expression: str,
    cells: Iterable[Cell],
    workloads: Sequence[str],
    place: str,
) -> None:
    values = dict.fromkeys(cells, 1.0)
    for workload in workloads:
        try:
            evaluate(expression, values, At(workload, workloads))
        except ZeroDivisionError:
            pass  # only with these made-up values
        except NarthexError as error:
            raise NarthexError(f"{place}: {error}") from None


def holds(expression: str, values: Values, place: At) -> bool:
    """Evaluate a claim at one workload."""
    return _truth(_parsed(expression), values, place)


def value(expression: str, values: Values, place: At) -> float:
    """Evaluate a value at one workload."""
    return _number(_parsed(expression), values, place)


def cells(expression: str, place: At) -> set[Cell]:
    """Return the measured cells that an expression needs at a workload."""
    parts = [name.partition("@") for name in names(expression, place.workloads)]
    return {(interface.strip(), other.strip() or place.workload) for interface, _, other in parts}


def names(expression: str, workloads: Sequence[str]) -> list[str]:
    """Return the values that a claim of these workloads is about, as it names them, each once."""
    return list(dict.fromkeys(_names(_parsed(expression), workloads)))


def _names(tree: ast.AST, workloads: Sequence[str]) -> Iterator[str]:
    """Name the values of an expression; those of a mean, at each workload."""
    match tree:
        case ast.Call(func=ast.Name(id="mean")):
            inside = [name for part in tree.args for name in _names(part, workloads)]
            for name, workload in product(inside, workloads):
                yield name if "@" in name else f"{name} @ {workload}"
        case ast.Constant(value=str() as name):
            yield name
        case _:
            for part in ast.iter_child_nodes(tree):
                yield from _names(part, workloads)


def is_looked_at_once(expression: str, workloads: Sequence[str]) -> bool:
    """Whether an expression comes to the same at every workload: it names that of each value."""
    return all("@" in name for name in names(expression, workloads))


def _parsed(expression: str) -> ast.expr:
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NarthexError(f"{shown(expression)} is not an expression: {error}") from None
    parts = sum(1 for _ in ast.walk(tree))
    if parts > MOST_PARTS:
        raise NarthexError(
            f"{shown(expression)} has {parts:,} parts; an expression has at most {MOST_PARTS}"
        )
    return tree


def _truth(tree: ast.expr, values: Values, place: At) -> bool:
    """Evaluate a condition. Every part is looked at, so a wrong name never hides."""
    match tree:
        case ast.BoolOp(op=ast.And(), values=parts):
            truths = [_truth(part, values, place) for part in parts]
            return all(truths)
        case ast.BoolOp(op=ast.Or(), values=parts):
            truths = [_truth(part, values, place) for part in parts]
            return any(truths)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return not _truth(part, values, place)
        case ast.Compare(left=left, ops=relations, comparators=others):
            numbers = [_number(part, values, place) for part in (left, *others)]
            return all(
                _relation(relation)(smaller, larger)
                for relation, smaller, larger in zip(relations, numbers, numbers[1:], strict=False)
            )
    raise NarthexError(f"'{ast.unparse(tree)}' is not a comparison")


def _relation(relation: ast.cmpop) -> Callable[[float, float], bool]:
    if type(relation) not in _RELATIONS:
        raise NarthexError("a claim compares with <, <=, > or >=: measured values are never equal")
    return _RELATIONS[type(relation)]


def _number(tree: ast.expr, values: Values, place: At) -> float:
    """Evaluate a value."""
    match tree:
        case ast.Constant(value=str() as name):
            return measured(name, values, place.workload)
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number) if number < LARGEST:
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return -_number(part, values, place)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            apply = _OPERATIONS[type(operation)]
            return apply(_number(left, values, place), _number(right, values, place))
        case ast.Call(func=ast.Name(id="mean"), args=[averaged], keywords=[]):
            at = [replace(place, workload=each) for each in place.workloads]
            return mean([_number(averaged, values, each) for each in at])
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as parts, keywords=[]) if (
            name in _FUNCTIONS and (name != "abs" or len(parts) == 1)
        ):
            numbers = [_number(part, values, place) for part in parts]
            return abs(numbers[0]) if name == "abs" else _FUNCTIONS[name](numbers)
    raise NarthexError(f"'{ast.unparse(tree)}' is not a value that a claim can use")


def measured(name: str, values: Values, workload: str) -> float:
    """Look a measured value up: 'INTERFACE' or 'INTERFACE @ WORKLOAD'."""
    interface, at, other = (part.strip() for part in name.partition("@"))
    key = (interface, other if at else workload)
    if key in values:
        found = values[key]
        if found is None:
            raise NoValueError(f"'{interface}' has no value at '{key[1]}'")
        return found
    interfaces = {interface for interface, _ in values}
    if interface not in interfaces:
        raise unknown("measured interface", interface, interfaces)
    its_workloads = {workload for each, workload in values if each == interface}
    raise unknown(f"workload at which '{interface}' is measured", key[1], its_workloads)
