"""The jobs of a run: several programs on one machine at a time.

A job is a program with its arguments and, behind an `@`, where and when it runs
("gauss 64 @ 0,4,8-11 start 1ms until 5ms"; machine/src/compose/nodes.rs reads that). It has one
process on each of its nodes, the first that is free on all, and its ranks count those nodes: its
program runs as on a machine of its own and can name no process of another job
(machine/src/compose/jobs.rs). A file of jobs is TOML:

    [[job]]
    program = "em3d"
    arguments = ["256"]
    nodes = "0-7"
    start = "1ms"
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narthex import strict
from narthex.errors import USAGE, NarthexError
from narthex.programs import Program, find
from narthex.toolchain import Progress


@dataclass
class Job:
    """A job as a file describes it."""

    program: str
    arguments: list[str] = field(default_factory=list)
    nodes: str | None = None
    start: str | None = None
    until: str | None = None

    @property
    def place(self) -> str | None:
        """Where and when it runs, as the simulator reads it."""
        times = {"start": self.start, "until": self.until}
        told = [word for name, time in times.items() if time for word in (name, time)]
        return " ".join([self.nodes or ALL_NODES, *told]) if told else self.nodes


@dataclass
class _File:
    job: list[Job]


ALL_NODES = "all"
"""A job's nodes where none are named."""

Jobs = Sequence[str | Job]
"""Jobs, or texts as `--job` takes them."""


def read(text: str) -> Job:
    """Read a job as `--job` takes it: "PROGRAM ARGS... [@ [NODES] [start TIME] [until TIME]]"."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise NarthexError(f"job '{text}': {error}", USAGE) from error
    words, nodes = _nodes_of(words)
    if not words:
        raise NarthexError(
            f"job '{text}' names no program; expected one with its arguments, "
            "such as 'gauss 64 @ 0-7'",
            USAGE,
        )
    return Job(words[0], words[1:], nodes)


def _nodes_of(words: list[str]) -> tuple[list[str], str | None]:
    """Separate the nodes from a job's words; the `@` may stand alone or before them."""
    places = [index for index, word in enumerate(words) if word.startswith("@")]
    if not places:
        return words, None
    nodes = " ".join(words[places[-1] :]).removeprefix("@").strip()
    return words[: places[-1]], nodes


def read_file(file: Path) -> list[Job]:
    """Read a file of jobs."""
    jobs = strict.table(_File, strict.document(file), str(file)).job
    if not jobs:
        raise NarthexError(f"{file}: it has no [[job]]")
    return jobs


def request(
    program: Program | None, jobs: Jobs, progress: Progress | None = None, interface: str = ""
) -> tuple[Program, dict[str, Any]]:
    """Describe a run's jobs, as the simulator reads them; the first one's program is returned.

    That is `program` if it is given, with the arguments that the run's request has.
    """
    known = [read(job) if isinstance(job, str) else job for job in jobs]
    described: dict[str, Any] = {}
    if program is None:
        if not known:
            raise NarthexError("name a program, or jobs with --job 'PROGRAM ARGS'", USAGE)
        first, *known = known
        program = find(first.program)
        described = {"args": first.arguments, "job_nodes": first.place or ALL_NODES}
    further = [_described(job, interface, progress) for job in known]
    return program, described | ({"jobs": further} if further else {})


def _described(job: Job, interface: str, progress: Progress | None) -> dict[str, Any]:
    program = find(job.program)
    return {
        "program": program.name,
        "args": job.arguments,
        "nodes": job.place,
        "elf": program.elf(progress, interface).hex(),
    }


def words(document: dict[str, Any]) -> str:
    """Return what a result's document ran, in words: its program, or its jobs."""
    jobs = document.get("jobs", [document])
    return " + ".join(" ".join([job["program"], *job["arguments"]]) for job in jobs)


def nodes_of(job: dict[str, Any]) -> Sequence[int]:
    """Return the nodes of a document's job, in the order of its ranks."""
    listed: Sequence[int] = job.get("node_list") or range(*job["nodes"])
    return listed


def job_at(document: dict[str, Any], node: int, process: int) -> str:
    """Return the job of a process: its program, and where others run that, its arguments.

    Empty of a run without several jobs, and of a processor without a process.
    """
    jobs = document.get("jobs", [])
    for job in jobs:
        if node in nodes_of(job) and job["process"] == process:
            program = str(job["program"])
            is_alone = sum(other["program"] == program for other in jobs) == 1
            return program if is_alone else " ".join([program, *job["arguments"]])
    return ""
