"""Fits models of communication to an interface: LogGP.

A large-scale simulator has a few numbers for what happens between two nodes;
this package measures them, and says how well they describe it. Reading order:
`model` (the parameters and what they predict), `measurement` (the runs, and
what is taken from them), `estimator` (lines through measurements, intervals),
`cautions` (where the model does not fit), `execution` (all of it), `output`
(files for other tools).
"""

from narthex.fitting.execution import Fit, fit_logp
from narthex.fitting.model import Line, LogGP

__all__ = ["Fit", "Line", "LogGP", "fit_logp"]
