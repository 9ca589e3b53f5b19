"""How faithful a system is to its paper: over all of its experiments, with the cause of each miss.

A row is near its published value when it is within its limit, or, without a
limit, within `NEAR_PERCENT`. Every other row, every published value that no
run reached and every claim that fails is a miss, and has a line with its
cause, which the experiment's file states: `[[miss]]` for rows,
`fails_because` for claims. A cause whose rows are near, or whose claim holds,
is refused: the page shall not explain what does not happen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from narthex.errors import NarthexError
from narthex.fitting.tables import Table
from narthex.notation import mean
from narthex.validation.definition import Miss
from narthex.validation.outcome import Claim, Outcome, label
from narthex.validation.rows import Row
from narthex.validation.wording import published, three_digits

NEAR_PERCENT = 10
"""How far a row may be from its published value where the experiment gives no limit."""

UNKNOWN = "not known"


@dataclass(frozen=True)
class Missed:
    """Rows or a claim of one experiment that miss the paper for one cause."""

    what: str
    measured: str
    printed: str
    error: str
    cause: str


def overview(systems: Sequence[tuple[str, Sequence[Outcome]]]) -> Table:
    """Put the systems side by side, one line each."""
    rows = [[name, *_figures(outcomes)] for name, outcomes in systems]
    return Table("Fidelity", ["system", *_FIGURES], rows, _FIGURES, [])


def experiments(outcomes: Sequence[Outcome]) -> Table:
    """Put a system's experiments side by side, one line each."""
    rows = [
        [f"`{each.experiment.name}`", each.experiment.source, *_figures([each])]
        for each in outcomes
    ]
    return Table("Experiments", ["experiment", "source", *_FIGURES], rows, _FIGURES, [])


_FIGURES = ["values compared", "near", "mean error", "worst", "claims that hold"]


def _figures(outcomes: Sequence[Outcome]) -> list[str]:
    """Count rows and claims; what a named alternative has again counts once."""
    rows: dict[tuple[str, str, str], Row] = {}
    claims: dict[tuple[str, str], Claim] = {}
    for each in sorted(outcomes, key=_is_alternative):  # a sort that keeps the order of equals
        published = each.experiment.published
        for row in each.rows:
            if row.published_low is not None:
                rows.setdefault((published, label(row), row.unit), row)
        for claim in each.claims:
            claims.setdefault((published, claim.text), claim)
    errors = [row.error_percent for row in rows.values() if row.error_percent is not None]
    return [
        str(len(rows)),
        str(sum(map(is_near, rows.values()))),
        f"{mean([abs(error) for error in errors]):.1f} %" if errors else "",
        f"{max(errors, key=abs):+.1f} %" if errors else "",
        f"{sum(claim.holds for claim in claims.values())} of {len(claims)}" if claims else "",
    ]


def _is_alternative(outcome: Outcome) -> bool:
    """Whether an experiment sets its rows beside another experiment's values."""
    return outcome.experiment.published != outcome.experiment.name


def is_near(row: Row) -> bool:
    """Whether a row is as near to its published value as it may be."""
    if row.within_limit is not None:
        return row.within_limit
    if row.error_percent is None:  # of a printed 0 there are points alone
        return row.error_points is not None and abs(row.error_points) <= NEAR_PERCENT
    return abs(row.error_percent) <= NEAR_PERCENT


def misses(outcome: Outcome) -> list[Missed]:
    """Return what an experiment does not reproduce: rows by their cause, then claims."""
    far = [row for row in outcome.rows if row.published_low is not None and not is_near(row)]
    by_cause = {miss.cause: _about(miss, far, outcome) for miss in outcome.experiment.miss}
    explained = {label(row) for rows in by_cause.values() for row in rows}
    unexplained = [row for row in far if label(row) not in explained]
    told = [_rows(rows, cause) for cause, rows in by_cause.items()]
    told += [_rows([row], UNKNOWN) for row in unexplained]
    return [*told, *_failing(outcome)]


def not_compared(outcome: Outcome) -> list[tuple[str, str]]:
    """Return the published values that no row answers, and why."""
    return [
        (f"{each.interface}, {each.workload}", each.reason)
        for each in outcome.experiment.not_compared
    ]


def _about(miss: Miss, far: Iterable[Row], outcome: Outcome) -> list[Row]:
    """Return the rows that a cause is about; each of its names must find one."""
    found = {name: [row for row in far if fnmatchcase(label(row), name)] for name in miss.rows}
    for name, rows in found.items():
        if not rows:
            raise NarthexError(
                f"{outcome.experiment.name}: no row that [[miss]] calls '{name}' is far from the"
                " paper: take it away, or name one of the far ones: "
                + ("; ".join(label(row) for row in far) or "there is none")
            )
    return [row for row in far if any(row in rows for rows in found.values())]


def _rows(rows: Sequence[Row], cause: str) -> Missed:
    """Tell of rows that miss for the same cause: the worst of them, and how many."""
    worst = max(rows, key=lambda row: abs(row.error_percent or row.error_points or 0))
    others = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return Missed(
        label(worst) + others,
        f"{three_digits(worst.value)} {worst.unit}",
        published(worst),
        _error(worst),
        cause,
    )


def _error(row: Row) -> str:
    """Print one number: what the row is judged by."""
    if row.limit_points is not None and row.error_points is not None:
        return f"{row.error_points:+.1f} points"
    return "" if row.error_percent is None else f"{row.error_percent:+.1f} %"


def _failing(outcome: Outcome) -> list[Missed]:
    """Tell of the claims that fail; a cause beside one that holds is refused."""
    told = []
    for claim, stated in zip(outcome.claims, outcome.experiment.claim, strict=True):
        if not claim.holds:
            told.append(_claim(claim, stated.fails_because or UNKNOWN))
        elif stated.fails_because:
            raise NarthexError(
                f"{outcome.experiment.name}: the claim '{claim.text}' holds: take its"
                " 'fails_because' away"
            )
    return told


def _claim(claim: Claim, cause: str) -> Missed:
    """Tell of a claim that fails, and where."""
    at = f"fails at {', '.join(claim.fails_at)}" if len(claim.values) > 1 else "fails"
    return Missed(f"*{claim.text}*", at, "", "", cause)
