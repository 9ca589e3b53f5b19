"""Re-runnable validation: published tables as experiments.

An experiment is a file `experiments/PAPER/NAME.toml`: a program, its
workloads, the interfaces, and the paper's claims as expressions that are
checked. Reading order: `definition` (the file; `loading` reads it), `published`
(the paper's values), `execution` (the runs; `sampling` takes from them what
counts), `rows` and `sizes` (measured and derived beside published), `claims` (the
expressions), `outcome` (all of it), `experiments` (what a file keeps of it), `plots` (pictures).
"""

from narthex.validation.definition import Experiment, Workload
from narthex.validation.execution import check, choices, experiment
from narthex.validation.experiments import Experiments
from narthex.validation.loading import load, names, only
from narthex.validation.outcome import Claim, Failure, Outcome, Summary
from narthex.validation.rows import Row

__all__ = [
    "Claim", "Experiment", "Experiments", "Failure", "Outcome", "Row", "Summary", "Workload",
    "check", "choices", "experiment", "load", "names", "only",
]  # fmt: skip
