"""The language of claims: comparisons of measured values, and nothing else.

    'CNI32Qm' < 'CNI512Q' < 'NI2w'
    'NI2w' / 'CNI32Qm' - 1 <= 3.42
    max('CNI512Q', 'CNI32Qm') < 'NI2w'
    'CNI32Qm' < 'CNI32Qm @ 4096 bytes'

A text stands for the measured value of that interface at the workload that is
looked at, or at the workload named behind `@`. Comparisons (chained as in
mathematics), `and`, `or`, `not`, + - * /, numbers, parentheses, `min`, `max`
and `abs`: the grammar is Python's, read by its parser and walked here node by
node, so a claim cannot do anything else, whatever the file says.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence

from narthex.errors import NarthexError, shown, unknown

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


def check(expression: str, cells: Iterable[Cell], workloads: Sequence[str], place: str) -> None:
    """Refuse a claim that is not of the language or names what is not measured."""
    _try(holds, expression, cells, workloads, place)


def check_value(
    expression: str, cells: Iterable[Cell], workloads: Sequence[str], place: str
) -> None:
    """Refuse a value that is not of the language or names what is not measured."""
    _try(value, expression, cells, workloads, place)


def _try(
    evaluate: Callable[[str, Values, str], object],
    expression: str,
    cells: Iterable[Cell],
    workloads: Sequence[str],
    place: str,
) -> None:
    values = dict.fromkeys(cells, 1.0)
    for workload in workloads:
        try:
            evaluate(expression, values, workload)
        except ZeroDivisionError:
            pass  # only with these made-up values
        except NarthexError as error:
            raise NarthexError(f"{place}: {error}") from None


def holds(expression: str, values: Values, workload: str) -> bool:
    """Evaluate a claim at one workload."""
    return _truth(_parsed(expression), values, workload)


def value(expression: str, values: Values, workload: str) -> float:
    """Evaluate a value at one workload."""
    return _number(_parsed(expression), values, workload)


def cells(expression: str, workload: str) -> set[Cell]:
    """Return the measured cells that an expression needs at a workload."""
    parts = [name.partition("@") for name in names(expression)]
    return {(interface.strip(), other.strip() or workload) for interface, _, other in parts}


def names(expression: str) -> list[str]:
    """Return the values that a claim is about, as it names them, each once."""
    constants = (each for each in ast.walk(_parsed(expression)) if isinstance(each, ast.Constant))
    texts = [(each.col_offset, each.value) for each in constants if isinstance(each.value, str)]
    return list(dict.fromkeys(text for _, text in sorted(texts)))


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


def _truth(tree: ast.expr, values: Values, workload: str) -> bool:
    """Evaluate a condition. Every part is looked at, so a wrong name never hides."""
    match tree:
        case ast.BoolOp(op=ast.And(), values=parts):
            truths = [_truth(part, values, workload) for part in parts]
            return all(truths)
        case ast.BoolOp(op=ast.Or(), values=parts):
            truths = [_truth(part, values, workload) for part in parts]
            return any(truths)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return not _truth(part, values, workload)
        case ast.Compare(left=left, ops=relations, comparators=others):
            numbers = [_number(part, values, workload) for part in (left, *others)]
            return all(
                _relation(relation)(smaller, larger)
                for relation, smaller, larger in zip(relations, numbers, numbers[1:], strict=False)
            )
    raise NarthexError(f"'{ast.unparse(tree)}' is not a comparison")


def _relation(relation: ast.cmpop) -> Callable[[float, float], bool]:
    if type(relation) not in _RELATIONS:
        raise NarthexError("a claim compares with <, <=, > or >=: measured values are never equal")
    return _RELATIONS[type(relation)]


def _number(tree: ast.expr, values: Values, workload: str) -> float:
    """Evaluate a value."""
    match tree:
        case ast.Constant(value=str() as name):
            return measured(name, values, workload)
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number) if number < LARGEST:
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return -_number(part, values, workload)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            apply = _OPERATIONS[type(operation)]
            return apply(_number(left, values, workload), _number(right, values, workload))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as parts, keywords=[]) if (
            name in _FUNCTIONS and (name != "abs" or len(parts) == 1)
        ):
            numbers = [_number(part, values, workload) for part in parts]
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
