"""Re-runnable validation: published tables as experiments.

An experiment is a file `experiments/PAPER/NAME.toml`: a program, its
workloads, the interfaces, and the paper's claims as expressions that are
checked. Reading order: `definition` (the file; `strict` reads it), `published` (the
paper's values), `execution` (the runs; `finished` keeps them), `rows` (measured
and derived beside published), `claims` (the expressions), `outcome` (all of it).
"""

from narthex.validation.definition import Experiment, Workload, load, names, only
from narthex.validation.execution import check, experiment
from narthex.validation.outcome import Claim, Outcome, Summary
from narthex.validation.rows import Row

__all__ = [
    "Claim", "Experiment", "Outcome", "Row", "Summary", "Workload", "check", "experiment", "load",
    "names", "only",
]  # fmt: skip
