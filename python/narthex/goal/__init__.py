"""Communication schedules: GOAL files and patterns, on detailed nodes or on a fitted model.

A schedule says what each rank sends, receives and computes, and what has to be over before
(docs/goal.md). Reading order: `parameters` (the fitted model's, from `narthex fit logp` or
LogGOPSim), `execution` (both executors), `drawing` (what the model's ranks do over time),
`fidelity` (one against the other).
"""

from narthex.goal.execution import Execution, convert, patterns, run, show
from narthex.goal.fidelity import Comparison, compare
from narthex.goal.parameters import Fitted, load

__all__ = [
    "Comparison",
    "Execution",
    "Fitted",
    "compare",
    "convert",
    "load",
    "patterns",
    "run",
    "show",
]
