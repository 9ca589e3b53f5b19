"""Counts how many small changes of each crate's code its own tests notice.

cargo-mutants makes each change in a copy of the sources, one at a time, and runs
the crate's tests: a change that a test notices is caught. A change that does not
compile counts for nothing. A change that makes a test run forever counts as
caught, because the test does not pass.

cargo-mutants follows `mod` lines. Those of models, protocols and the like are
written by build scripts, so the copy names these files a second time.

    python .ci/mutants.py fabrics           # one crate; all three if none is named
    python .ci/mutants.py --sample 1/8      # every eighth change, from the second on

What was caught and missed stands in target/mutants/CRATE/mutants.out.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
CRATES = ("memory", "fabrics", "interfaces")
LEAST_CAUGHT = 0.85
CASES = "8"
"""Cases of each random test, few for the sake of time: a change that needs more is missed."""
INSTALL = "make mutants needs cargo-mutants: cargo install --locked cargo-mutants"
# How a module takes in the list that its crate's build script has written.
FOUND_FILES = 'include!(concat!(env!("OUT_DIR")'
# Exit codes of cargo-mutants with which all changes have been tried.
ALL_CAUGHT, SOME_MISSED, SOME_TIMED_OUT = 0, 2, 3


def main() -> int:
    """Try the changes of the crates named and return the exit code."""
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("crates", nargs="*", metavar="CRATE", help=f"of {', '.join(CRATES)}")
    text = "each N-th change, from number K < N on"
    parser.add_argument("--sample", metavar="K/N", type=sample, help=text)
    options = parser.parse_args()
    unknown = set(options.crates).difference(CRATES)
    if unknown:
        return fail(f"CRATE={unknown.pop()} is unknown; allowed are {', '.join(CRATES)}", 2)
    if shutil.which("cargo-mutants") is None:
        return fail(INSTALL, 2)
    shares = [share_caught(crate, options.sample) for crate in options.crates or CRATES]
    return 0 if all(share >= LEAST_CAUGHT for share in shares) else 4


def sample(text: str) -> str:
    """Return the text if it names a sample."""
    part, _, whole = text.partition("/")
    if part.isdigit() and whole.isdigit() and int(part) < int(whole):
        return text
    raise argparse.ArgumentTypeError(f"'{text}' is no K/N with K < N, such as 1/8")


def share_caught(crate: str, sample: str | None) -> float:
    """Try a crate's changes, print what came of them by file, return the share caught."""
    folder = ROOT / "target" / "mutants" / crate
    tree = copy_of_sources(crate, folder / "tree")
    # A run that was interrupted leaves half of a build.
    shutil.rmtree(folder / "build", ignore_errors=True)
    command = ["cargo", "mutants", "--package", f"narthex-{crate}", "--output", str(folder)]
    command += ["--dir", str(tree), "--in-place"]
    if sample:
        command += ["--sharding", "round-robin", "--shard", sample]
    environment = os.environ | {"CARGO_TARGET_DIR": str(folder / "build"), "PROPTEST_CASES": CASES}
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
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


def copy_of_sources(crate: str, tree: Path) -> Path:
    """Copy the checkout to `tree` and name there the crate's files that build scripts find."""
    shutil.rmtree(tree, ignore_errors=True)
    made = shutil.ignore_patterns("target", ".venv", ".git", "results", "__pycache__")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=made)
    for module in (tree / crate / "src").rglob("mod.rs"):
        text = module.read_text()
        if FOUND_FILES in text:
            found = {file.stem for file in module.parent.glob("*.rs")} - {"mod"}
            unnamed = sorted(name for name in found if f"mod {name};" not in text)
            module.write_text(text + "".join(f"#[cfg(any())]\nmod {name};\n" for name in unnamed))
    return tree


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
    sys.exit(main())
