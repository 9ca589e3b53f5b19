"""The section of jobs that run together: what they are, and what they cost each other."""

from typing import Any

from narthex import jobs
from narthex.interference import Interference
from narthex.report.parts import Cell, Facts, Section, Table, columns, number


def sections(document: dict[str, Any]) -> list[Section]:
    """Describe the jobs, and how many times slower each is beside others than alone."""
    found = Interference(document)
    facts = Facts(
        [
            ("Machine", document["machine"]),
            ("Interface", document["interface"]),
            ("Nodes", number(document["nodes"])),
            ("Narthex", document["version"]),
        ]
    )
    listed: list[list[Cell]] = [
        [" ".join([job["program"], *job["arguments"]]), ", ".join(map(str, jobs.nodes_of(job)))]
        for job in document["jobs"]
    ]
    ran = Table("Jobs", columns("job", "nodes"), listed)
    return [Section("What jobs cost each other", [facts, ran, found.map()])]
