"""What decides a run, as one name: its key.

A run is a function of the program's bytes, its arguments, what it finds around it, its firmware,
the resolved machine, the interface and the simulator; nothing else decides what it returns. A hash
of all of them says whether two runs are the same, and whether a kept one is
the one that is asked for.
"""

import hashlib
import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from narthex import _native, surroundings
from narthex.programs import Program

RUN_SETTINGS = {"nodes": "machine.nodes", "seed": "machine.seed"}
"""Parts of a request that are parameters of its machine."""


def machine_of(request: dict[str, Any]) -> dict[str, Any]:
    """Resolve a request's machine: its `name`, `toml` and `machine`, all parameters."""
    run = [
        f"{key}={request[each]}" for each, key in RUN_SETTINGS.items() if request[each] is not None
    ]
    return json.loads(_native.machine_show(request["machine"], [*request["set"], *run], False))


def run_key(request: dict[str, Any], machine: dict[str, Any], program: Program) -> str:
    """Return the name of a run on a resolved machine."""
    parts = {
        "program": request["program"],
        "elf": _program_digest(program.elf(interface=request["interface"])),
        "args": request["args"],
        "interface": request["interface"].casefold(),
        "machine": machine["machine"],
        "simulator": simulator(),
    }
    if firmware := request.get("firmware"):
        parts["firmware"] = {name: digest(each["elf"].encode()) for name, each in firmware.items()}
    if given := request.get("surroundings"):
        parts["surroundings"] = surroundings.identity(given)
    if hardware := request.get("hardware"):
        parts["hardware"] = {key: hardware.get(key) for key in ("sha256", "clock")}
    if warm := request.get("warm"):
        parts["warm"] = {
            key: each for part in warm.values() for key, each in part.items() if key != "file"
        }
    if until := request.get("until"):
        parts["until"] = until
    if jobs := {key: request[key] for key in ("jobs", "job_nodes") if request.get(key)}:
        parts["jobs"] = digest(json.dumps(jobs, sort_keys=True).encode())
    return digest(json.dumps(parts, sort_keys=True).encode())


@cache
def simulator() -> str:
    """Identify the simulator by its own bytes: a version says too little while one develops it."""
    return digest(Path(_native.__file__).read_bytes())


@lru_cache(maxsize=64)
def _program_digest(elf: bytes) -> str:
    return digest(elf)


def digest(data: bytes) -> str:
    """Return the hash of bytes, as text."""
    return hashlib.sha256(data).hexdigest()
