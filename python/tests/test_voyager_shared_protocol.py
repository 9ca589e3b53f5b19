"""The protocol of `firmware/voyager-shared` in random orders of what happens in the nodes.

The firmware's own sources run on the host, each node in a library of its own, between parts of
which each makes a step when a seed says so (interleavings/).
"""

import shutil
import subprocess
from pathlib import Path

import native
import pytest

from narthex.assets import GUEST

HERE = Path(__file__).parent / "interleavings"
FIRMWARE = GUEST / "firmware" / "voyager-shared"
NODES = 4
SOURCES = ["copies.c", "homes.c", "messages.c", "shared_memory.c", "tasks.c"]


def build(folder: Path, replaced: tuple[str, str, str] | None = None) -> list[str]:
    """Compile the driver and a library for each node: the command without seed and accesses.

    `replaced` is a source, and what stands there for something else.
    """
    sources = folder / "sources"
    sources.mkdir()
    for name in SOURCES:
        text = (FIRMWARE / name).read_text()
        if replaced and replaced[0] == name:
            assert replaced[1] in text
            text = text.replace(*replaced[1:])
        (sources / name).write_text(text)
    compiler = [*native.host_compiler(), "-O1", f"-I{HERE}", f"-I{GUEST}"]
    inputs = [str(HERE / "node.c"), *(str(sources / name) for name in SOURCES)]
    first, driver = folder / "node0.so", folder / "orders"
    shared = ["-DSHARED_MEMORY=1", "-fPIC", "-shared"]
    subprocess.run([*compiler, *shared, "-w", *inputs, "-o", first], check=True)
    subprocess.run([*compiler, HERE / "orders.c", "-ldl", "-o", driver], check=True)
    libraries = [folder / f"node{each}.so" for each in range(NODES)]
    for library in libraries[1:]:
        shutil.copy(first, library)
    return [str(driver), *map(str, libraries)]


def run(command: list[str], seed: int, nodes: int, accesses: int = 3000) -> str:
    """What the driver has to say; nothing if all is right."""
    driver, *libraries = command
    asked = [driver, str(seed), str(accesses), *libraries[:nodes]]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=60)
    return ended.stdout or ("" if ended.returncode == 0 else f"exit code {ended.returncode}")


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_in_any_order_one_may_write_and_all_read_what_was_written(nodes, tmp_path):
    command = build(tmp_path)
    for seed in range(1, 13):
        assert run(command, seed, nodes) == "", f"seed {seed}"


@pytest.mark.parametrize(
    ("source", "rule", "without", "told"),
    [
        ("homes.c", "if (task->awaited == 0)", "if (1)", "may be written by 1 nodes and read by"),
        (
            "homes.c",
            "entry->copies & ~bit(task->rank);",
            "0;",
            "may be written by 1 nodes and read",
        ),
        ("homes.c", "!(entry->copies & bit(task->rank))", "!entry->copies", "a write of"),
        ("homes.c", "state != IDLE || ", "state > IN_WORK || ", "may be written by 2 nodes"),
        ("copies.c", "is_flushed = true", "is_flushed = false", "a cache may write"),
        ("messages.c", "number << ", "(number ^ 1) << ", "before one that left earlier"),
        ("copies.c", "is_granted ? 0 : *state", "*state", "no access is over any more"),
    ],
)
def test_without_a_rule_of_the_protocol_an_order_shows_it(source, rule, without, told, tmp_path):
    command = build(tmp_path, (source, rule, without))
    assert any(told in run(command, seed, NODES) for seed in range(1, 13))
