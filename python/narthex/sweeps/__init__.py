"""Sweeps: many runs over parameters, into one table.

Reading order: `definition` (the file; `loading` and `axes` read it), `points`
(which values go together), `planning` (the runs, their names and keys), `work`
(one run, as another process makes it), `processes` and `cluster` (who makes
them), `tables` and `folder` (the results), `execution` (all of it), `plots`
(a picture of a report).

Nothing is imported here: a process that only makes runs needs `work` alone.
"""
