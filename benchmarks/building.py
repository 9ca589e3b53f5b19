"""Builds what is measured, by one call of cargo, and finds it."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from narthex.errors import NarthexError

ROOT = Path(__file__).resolve().parent.parent
BENCHES = ("kernels", "events", "windows", "messages")
SIMULATOR = "run"
KERNELS = "kernel_instructions"


def build() -> dict[str, Path]:
    """Build the benches and the programs that are measured; returns their files by name.

    Cargo's own progress goes to the error output.
    """
    command = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--message-format=json-render-diagnostics",
    ]
    for bench in BENCHES:
        command += ["--bench", bench]
    for example in (SIMULATOR, KERNELS):
        command += ["--example", example]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise NarthexError(f"cannot run cargo: {error.strerror}") from error
    if done.returncode != 0:
        raise NarthexError("cargo did not build what is to be measured; its words stand above")
    return executables(done.stdout.splitlines())


def executables(messages: Iterable[str]) -> dict[str, Path]:
    """Return the executable files that cargo's messages name, by the name of their target."""
    found = {}
    for line in messages:
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            found[message["target"]["name"]] = Path(message["executable"])
    missing = sorted({*BENCHES, SIMULATOR, KERNELS} - found.keys())
    if missing:
        raise NarthexError(f"cargo built no {', '.join(missing)}")
    return found
