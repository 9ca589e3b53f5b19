"""The Rust module: JSON text in, JSON text out (see python/src/lib.rs)."""

import builtins
from collections.abc import Callable

__version__: str

def list(kind: str) -> str: ...
def run(
    request: str,
    elf: bytes,
    observer: Callable[[int], bool] | None = None,
    output: Callable[[int, int, str, bytes], object] | None = None,
    notice: Callable[[str], object] | None = None,
    loss: Callable[[str], object] | None = None,
) -> str: ...
def explain(
    request: str, elf: bytes, observer: Callable[[int], bool] | None = None
) -> str: ...
def check_protocol(name: str) -> str: ...
def check_interface(
    request: str, elf: bytes, observer: Callable[[int], object] | None = None
) -> str: ...
def check_bridge(without: str | None = None) -> str: ...
def check_shared_memory(
    table: str,
    nodes: int,
    limit: int,
    without: str | None = None,
    observer: Callable[[int], object] | None = None,
) -> str: ...
def machine_show(name: str, sets: builtins.list[str], sources: bool) -> str: ...
def machine_settings(name: str, sets: builtins.list[str], interface: str) -> str: ...
def machine_differences(
    one: str, one_sets: builtins.list[str], other: str, other_sets: builtins.list[str]
) -> str: ...
def schema() -> str: ...
