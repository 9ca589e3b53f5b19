"""Narthex simulates the host-network interface.

Real programs run on the simulated nodes of a parallel machine and exchange
messages through the network interface (NI) of your choice; the result tells
what they reported and where each processor's time went.

    import narthex

    result = narthex.run("roundtrip", 64, 1000, interface="CNI32Qm")
    print(result.reports)                       # what the program reported
    print(result.ledger)                        # where the time went
    result.plot_ledger().save("ledger.svg")     # the same as a picture
    print(narthex.compare("roundtrip", 64, interfaces=["NI2w", "CNI512Q"]).frame)

What the command line runs, a call of the same name runs here, and what it
writes with `--json`, `save` writes and `load` reads. Tables are Polars frames,
charts Vega-Altair's. The layers, from below:
`_native` is the simulator (Rust); `arguments` makes of what callers give what
that takes; `programs` finds and compiles guests; `documents` are what results
are written as; `running` runs a program, and `results` are what comes of it;
`comparison` runs it on several interfaces; `explanation` opens one message's
life; `fitting` measures an interface's LogGP parameters; `validation` runs
experiments and joins published values; `sweeps` makes many
runs over parameters into one table; `cli` is the command line and holds no
logic of its own. Nothing is imported before it is used, so that
`narthex --help` answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from narthex.errors import NarthexError

if TYPE_CHECKING:
    from narthex._native import __version__ as __version__
    from narthex.comparison import Comparison, compare
    from narthex.compiler import compile  # noqa: A004
    from narthex.differences import Difference, diff
    from narthex.explanation import Explanation, explain
    from narthex.fitting import fit_logp
    from narthex.interference import Interference, interfere
    from narthex.listing import catalogue, parameters
    from narthex.loads import NetworkLoad, network
    from narthex.results import Result, load
    from narthex.running import run
    from narthex.side_by_side import SideBySide, explain_all
    from narthex.sweeps.execution import sweep
    from narthex.sweeps.plots import plot_sweep
    from narthex.validation import Experiments, Outcome, experiment

__all__ = [
    "Comparison",
    "Difference",
    "Experiments",
    "Explanation",
    "Interference",
    "NarthexError",
    "NetworkLoad",
    "Outcome",
    "Result",
    "SideBySide",
    "catalogue",
    "compare",
    "compile",
    "diff",
    "experiment",
    "explain",
    "explain_all",
    "fit_logp",
    "interfere",
    "load",
    "network",
    "parameters",
    "plot_sweep",
    "run",
    "sweep",
]

_HOMES = {
    "Comparison": "narthex.comparison",
    "Difference": "narthex.differences",
    "Experiments": "narthex.validation",
    "Explanation": "narthex.explanation",
    "Interference": "narthex.interference",
    "Outcome": "narthex.validation",
    "Result": "narthex.results",
    "SideBySide": "narthex.side_by_side",
    "__version__": "narthex._native",
    "catalogue": "narthex.listing",
    "compare": "narthex.comparison",
    "compile": "narthex.compiler",
    "diff": "narthex.differences",
    "experiment": "narthex.validation",
    "explain": "narthex.explanation",
    "explain_all": "narthex.side_by_side",
    "fit_logp": "narthex.fitting",
    "interfere": "narthex.interference",
    "load": "narthex.results",
    "network": "narthex.loads",
    "NetworkLoad": "narthex.loads",
    "parameters": "narthex.listing",
    "plot_sweep": "narthex.sweeps.plots",
    "run": "narthex.running",
    "sweep": "narthex.sweeps.execution",
}


if not TYPE_CHECKING:  # a type checker shall know the names above, and no others

    def __getattr__(name: str) -> object:
        """Import a public name from its home on first use."""
        if name not in _HOMES:
            raise AttributeError(f"module 'narthex' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
