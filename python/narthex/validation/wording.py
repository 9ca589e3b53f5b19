"""How values, errors and verdicts of an experiment are written, in the terminal and on pages."""

from narthex.validation.outcome import Claim, Summary
from narthex.validation.rows import Row


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
    """Print the error; one outside the limit has a mark."""
    if row.error_percent is None:
        return "" if row.published_low is None else "none"
    mark = " !" if row.within_limit is False else ""
    return f"{row.error_percent:+.1f} %{mark}"


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
