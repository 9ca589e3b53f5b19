"""Counts how many small changes of each crate's code its own tests notice.

cargo-mutants makes each change in a copy of the sources, one at a time, and runs
the crate's tests: a change that a test notices is caught. A change that does not
compile counts for nothing. A change that makes a test run forever counts as
caught, because the test does not pass.

    python .ci/mutants.py fabrics        # one crate; all three if none is named

What was caught and missed stands in target/mutants/CRATE/mutants.out.
"""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
CRATES = ("memory", "fabrics", "interfaces")
LEAST_CAUGHT = 0.85
INSTALL = "make mutants needs cargo-mutants: cargo install --locked cargo-mutants"
# Exit codes of cargo-mutants with which all changes have been tried.
ALL_CAUGHT, SOME_MISSED, SOME_TIMED_OUT = 0, 2, 3


def main(crates: list[str]) -> int:
    """Try the changes of these crates and return the exit code."""
    unknown = set(crates).difference(CRATES)
    if unknown:
        return fail(f"CRATE={unknown.pop()} is unknown; allowed are {', '.join(CRATES)}", 2)
    if shutil.which("cargo-mutants") is None:
        return fail(INSTALL, 2)
    shares = [share_caught(crate) for crate in crates or CRATES]
    return 0 if all(share >= LEAST_CAUGHT for share in shares) else 4


def share_caught(crate: str) -> float:
    """Try all changes of a crate, print what came of them by file, return the share caught."""
    folder = ROOT / "target" / "mutants" / crate
    folder.mkdir(parents=True, exist_ok=True)
    command = ["cargo", "mutants", "--package", f"narthex-{crate}", "--output", str(folder)]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code not in (ALL_CAUGHT, SOME_MISSED, SOME_TIMED_OUT):
        sys.exit(code)
    outcomes = json.loads((folder / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    files: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        if outcome["scenario"] != "Baseline":
            file = outcome["scenario"]["Mutant"]["file"]
            files.setdefault(file, Counter())[outcome["summary"]] += 1
    for file, counts in sorted(files.items()):
        print_line(file, counts)
    share = print_line(crate, sum(files.values(), Counter()))
    if share < LEAST_CAUGHT:
        missed = (folder / "mutants.out" / "missed.txt").relative_to(ROOT)
        print(f"less than {LEAST_CAUGHT:.0%}: {missed} lists what no test notices", file=sys.stderr)
    return share


def print_line(name: str, counts: Counter[str]) -> float:
    """Print what came of the changes that compile, and return the share that was caught."""
    caught, missed = counts["CaughtMutant"] + counts["Timeout"], counts["MissedMutant"]
    share = caught / (caught + missed) if caught + missed else 1.0
    print(f"{name:48} {caught:5} caught {missed:5} missed {share:7.1%}")
    return share


def fail(problem: str, code: int) -> int:
    """Say what is wrong and return the exit code."""
    print(problem, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
