"""What columns of tables are called: names that any language can write without quotes.

    bus.clock in MHz          bus_clock_MHz
    bandwidth in MB/s         bandwidth_MB_per_s      "bandwidth (MB/s)" on a chart

A column has letters, digits and underscores, and the unit stands last.
"""

import re

_UNITS = re.compile(
    r"_((?:[A-Za-z]+_per_[a-z]+)|ps|ns|us|ms|s|cycles|bytes|B|KiB|MiB|GiB|kHz|MHz|GHz|percent)$"
)


def column(name: str, unit: str = "") -> str:
    """Return what the column of a parameter or a report is called: `value` without a name."""
    return "_".join(filter(None, (_word(name) or "value", _word(unit))))


def label(name: str) -> str:
    """Return what a chart calls a column."""
    unit = _UNITS.search(name)
    words = name[: unit.start()] if unit else name
    told = f" ({unit[1].replace('_per_', '/').replace('percent', '%')})" if unit else ""
    return words.replace("_", " ") + told


def stem(name: str) -> str:
    """Return a column's name without its unit."""
    return _UNITS.sub("", name)


def is_rate(name: str) -> bool:
    """Tell whether a column holds a rate, of which more is better."""
    return name.endswith("_per_s")


def _word(text: str) -> str:
    spelt = text.replace("%", " percent ").replace("/", " per ")
    return "_".join(re.findall(r"\w+", spelt))
