"""How values, errors and verdicts of an experiment are written, in the terminal and on pages."""

from narthex.validation.outcome import Claim, Summary
from narthex.validation.rows import Row
from narthex.validation.sensitivity import MovedRow


def summary_line(summary: Summary) -> str:
    """Say in a line how far an experiment is from the paper."""
    if summary.mean_absolute_error_percent is None:
        return "No published values: every row is a prediction."
    compared = summary.published - len(summary.without_value)
    return (
        f"Mean absolute error over {compared} published values:"
        f" {summary.mean_absolute_error_percent:.1f} %;"
        f" worst: {summary.worst_error_percent:+.1f} % ({summary.worst})"
    )


def verdict(claim: Claim) -> str:
    """Say whether a claim holds."""
    return "holds" if claim.holds else "FAILS"


def error(row: Row) -> str:
    """Print the error, that of a value in percent in points too; outside the limit it has a mark.

    Of nothing no percent is anything: from a printed 0 there are points alone.
    """
    told = []
    if row.error_percent is not None:
        told.append(f"{row.error_percent:+.1f} %")
    if row.error_points is not None:
        told.append(f"{row.error_points:+.1f} points")
    if not told:
        return "" if row.published_low is None else "none"
    return ", ".join(told) + (" !" if row.within_limit is False else "")


def three_digits(value: float | None) -> str:
    """Print a value as tables in papers do: 1.29, 36.0, 209."""
    if value is None:
        return "none"
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"


def published(row: Row) -> str:
    """Print the published value or range."""
    if row.published_low is None or row.published_high is None:
        return ""
    if row.published_low == row.published_high:
        return f"{row.published_low:g}"
    return f"{row.published_low:g} to {row.published_high:g}"


def hangs_on(claim: Claim) -> str:
    """Say with which other values of the machine's parameters a claim turns."""
    word = "fails" if claim.holds else "holds"
    return f"{word} with {', or '.join(claim.hangs_on)}" if claim.hangs_on else ""


def change(moved: MovedRow | None) -> str:
    """Say by how much a row moves."""
    return "" if moved is None else f"{moved.change:+.1f} {moved.change_unit}"
