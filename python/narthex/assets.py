"""Files that belong to the package: guest sources and experiments.

In a checkout `narthex/guest` and `narthex/experiments` are links to the
folders at its root; in an installed wheel they are copies of them.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parent

GUEST = _PACKAGE / "guest"
"""C sources that run on the simulated processors: runtime, messaging, programs."""

EXPERIMENTS = _PACKAGE / "experiments"
"""`PAPER/NAME.toml`, one per published table, and `published/PAPER.csv`."""


CALIBRATIONS = EXPERIMENTS / "calibrations"
"""`NAME.toml`: which parameters of a machine are fitted to which published values."""

FITS = EXPERIMENTS / "fits"
"""`NAME.toml`: which parameters of the machine NAME come from which measured rows."""


def experiment_names() -> list[str]:
    """Return the experiments that come with Narthex, as PAPER/NAME."""
    files = EXPERIMENTS.glob("*/*.toml")
    return sorted(
        file.relative_to(EXPERIMENTS).with_suffix("").as_posix()
        for file in files
        if file.parent not in (CALIBRATIONS, FITS)
    )
