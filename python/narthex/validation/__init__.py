"""Re-runnable validation: published tables as experiments.

An experiment is a file `experiments/PAPER/NAME.toml`: a program, its
workloads, the interfaces, and the paper's claims as expressions that are
checked. Reading order: `definition` (the file), `execution` (the runs),
`published` (the paper's values), `claims` (the expressions), `outcome` (the
rows and what becomes of the claims).
"""

from narthex.validation.definition import Experiment, Workload, load, names
from narthex.validation.execution import experiment
from narthex.validation.outcome import Claim, Outcome, Row

__all__ = ["Claim", "Experiment", "Outcome", "Row", "Workload", "experiment", "load", "names"]
