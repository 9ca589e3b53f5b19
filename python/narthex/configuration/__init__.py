"""Help with machines' files and sweeps' files: what `narthex machine` is made of.

| module | what it does |
| --- | --- |
| `differences` | what distinguishes two machines |
| `starter` | a machine's file to begin with |
| `warnings` | what is set and changes nothing |
| `schemas` | JSON Schemas with which editors complete and check the files |

The machines themselves, their checks and their schema are the simulator's
(machine/src/config).
"""
