"""Narthex simulates the host-network interface.

Real programs run on the simulated nodes of a parallel machine and exchange
messages through the network interface (NI) of your choice; the result tells
what they reported and where each processor's time went.

    import narthex

    result = narthex.run("roundtrip", 64, 1000, interface="CNI32Qm")
    print(result.reports)                       # what the program reported
    print(result.ledger)                        # where the time went
    print(narthex.compare("roundtrip", 64, interfaces=["NI2w", "CNI512Q"]))

Everything that the command line does is a call here. The layers, from below:
`_native` is the simulator (Rust); `programs` finds and compiles guests;
`running` runs one of them; `comparison` runs it on several interfaces;
`explanation` opens one message's life; `fitting` measures an interface's LogGP parameters;
`validation` runs experiments and joins published values; `sweeps` makes many
runs over parameters into one table; `cli` is the command line and holds no
logic of its own. Nothing is imported before it is used, so that
`narthex --help` answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from narthex.errors import NarthexError

if TYPE_CHECKING:
    from narthex.comparison import compare
    from narthex.compiler import compile  # noqa: A004
    from narthex.explanation import Explanation, explain
    from narthex.fitting import fit_logp
    from narthex.results import Result
    from narthex.running import run
    from narthex.sweeps.execution import sweep
    from narthex.validation import experiment

__all__ = [
    "Explanation",
    "NarthexError",
    "Result",
    "compare",
    "compile",
    "experiment",
    "explain",
    "fit_logp",
    "run",
    "sweep",
]

_HOMES = {
    "Explanation": "narthex.explanation",
    "Result": "narthex.results",
    "__version__": "narthex._native",
    "compare": "narthex.comparison",
    "compile": "narthex.compiler",
    "experiment": "narthex.validation",
    "explain": "narthex.explanation",
    "fit_logp": "narthex.fitting",
    "run": "narthex.running",
    "sweep": "narthex.sweeps.execution",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'narthex' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
