"""Damaged results: a page and frames, or an error that names the file; nothing else.

Real documents of each kind are changed in their bytes and in their structure
(keys dropped, types changed, huge and non-finite numbers, deep nesting) and given
to `load` and to `report`. `make fuzz` goes on for NARTHEX_FUZZ_S seconds, each time
from another seed, which it prints; NARTHEX_FUZZ_SEED repeats it.
"""

import contextlib
import copy
import json
import os
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import narthex
from narthex import NarthexError, report
from narthex.documents import read_file

LONG_S = float(os.environ.get("NARTHEX_FUZZ_S", "420"))
"""Of the long form, all kinds together."""

SEED = int(os.environ.get("NARTHEX_FUZZ_SEED", time.time()))

ROUND = 200
"""Examples of the long form between two looks at the clock."""

MARKS = {"@digits": "9" * 5000, "@nested": "[" * 3000 + "]" * 3000, "@surrogate": r'"\ud800"'}
"""What Python would not write."""


def nested(depth: int, inner: Any = 1) -> Any:
    for level in range(depth):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


VALUES = [
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400,
    0.5, -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), *MARKS,
    "", "NaN", "-Infinity", "1.5", "x", "0ns", "1e30GHz", "9999999999999GiB", "</script>", "\0",
    "💥", "x" * 300, "a / b / c", [], {}, [[]], [None], {"value": 1}, {"": {}},
    {"value": "NaN", "stated": 3}, nested(30), nested(300),
]  # fmt: skip
"""What may stand anywhere."""


@dataclass(frozen=True)
class Change:
    """A change of a document: of what a path of numbers leads to."""

    way: str
    path: list[int]
    value: int
    """Which of VALUES, or how much."""


CHANGES = st.builds(
    Change,
    st.sampled_from(["replace", "drop", "double", "empty", "rename", "exchange", "deepen"]),
    st.lists(st.integers(0, 60), min_size=1, max_size=7),
    st.integers(0, len(VALUES) - 1),
)
BYTES = st.tuples(
    st.sampled_from(["flip", "cut", "remove", "insert", "repeat"]),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 255),
)
DAMAGE = st.one_of(
    st.tuples(st.lists(CHANGES, min_size=1, max_size=3), st.just([])),
    st.tuples(st.just([]), st.lists(BYTES, min_size=1, max_size=2)),
)
"""Changes of structure, or of bytes."""


def changed(document: Any, changes: list[Change]) -> bytes:
    """Return a document's text after changes of its structure."""
    document = json.loads(json.dumps(document))
    for change in changes:
        container, key = place(document, change.path)
        alter(container, key, change)
    text = json.dumps(document)
    for mark, meaning in MARKS.items():
        text = text.replace(f'"{mark}"', meaning)
    return text.encode()


def place(document: Any, path: list[int]) -> tuple[Any, Any]:
    """Walk into a document; returns a container and what to change in it."""
    container, key = {"": document}, ""
    for step in path:
        below = container[key]
        if not isinstance(below, dict | list) or not below:
            break
        container = below
        key = list(below)[step % len(below)] if isinstance(below, dict) else step % len(below)
    return container, key


def alter(container: Any, key: Any, change: Change) -> None:
    old = container[key]
    match change.way:
        case "drop" if key != "":
            del container[key]
        case "double" if isinstance(container, list):
            container.append(copy.deepcopy(old))
        case "empty" if isinstance(old, dict | list | str):
            container[key] = type(old)()
        case "rename" if isinstance(container, dict) and key:
            container[f"{key}{change.value}"] = container.pop(key)
        case "exchange":
            others = list(container) if isinstance(container, dict) else range(len(container))
            other = list(others)[change.value % len(container)]
            container[key], container[other] = container[other], old
        case "deepen":
            container[key] = nested(change.value, old)
        case _:
            container[key] = copy.deepcopy(VALUES[change.value])


def damaged(text: bytes, damages: list[tuple[str, float, int]]) -> bytes:
    """Return a text after changes of its bytes."""
    data = bytearray(text)
    for way, where, how in damages:
        at = int(where * len(data))
        match way:
            case "flip":
                data[at : at + 1] = bytes(byte ^ (1 << how % 8) for byte in data[at : at + 1])
            case "cut":
                del data[at:]
            case "remove":
                del data[at : at + how]
            case "insert":
                data[at:at] = bytes([how])
            case "repeat":
                data[at:at] = data[at : at + how]
    return bytes(data)


# --- the documents and what is asked of them --------------------------------------


@pytest.fixture(scope="module")
def documents():
    """A result of each kind."""
    interfaces = ["NI2w", "CNI32Qm"]
    return {
        narthex.Result: narthex.run("roundtrip", 8, 5, 1, nodes=2),
        narthex.Comparison: narthex.compare(
            "roundtrip", 8, 5, 1, interfaces=interfaces, nodes=2
        ),
        narthex.Experiments: narthex.experiment("hpca98/roundtrip", interfaces=interfaces),
        narthex.Explanation: narthex.explain("NI2w", 8),
    }  # fmt: skip


USES = {
    narthex.Result: [
        lambda it: (it.reports, it.ledger, it.statistics, it.measurements, it.output, it.title),
        lambda it: [it.value(name) for name in it.reports["name"]],
        lambda it: [it.plot_ledger(region=name).to_dict() for name in [None, *it.regions]],
    ],
    narthex.Comparison: [
        lambda it: (it.frame, it.title),
        lambda it: it.plot().to_dict(),
        lambda it: it.plot_ledger().to_dict(),
    ],
    narthex.Experiments: [
        lambda it: (it.frame, it.verdicts),
        lambda it: [it.plot(name).to_dict() for name in it.names],
    ],
    narthex.Explanation: [
        lambda it: (it.transactions, it.breakdown),
        lambda it: it.plot().to_dict(),
    ],
}
"""What a program may do with each kind."""


def use(file, kind) -> bool:
    """Load a file and make a page of it; tells whether it was refused."""
    try:
        loaded = narthex.load(file, kind)
    except NarthexError:
        return True
    for each in USES[kind]:
        with contextlib.suppress(NarthexError):
            each(loaded)
    with contextlib.suppress(NarthexError):
        assert report.page([read_file(file)])
    assert loaded.save(file)
    narthex.load(file, kind)
    return False


def check(documents, folder, kind, damage) -> bool:
    changes, damages = damage
    file = folder / "damaged.json"
    file.write_bytes(damaged(changed(documents[kind].document, changes), damages))
    return use(file, kind)


EVERY = [narthex.Result, narthex.Comparison, narthex.Experiments, narthex.Explanation]


def given_damage(examples, **options):
    """Let hypothesis choose what is changed."""

    def decorate(test):
        chosen = given(damage=DAMAGE)(test)
        return settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            **options,
        )(chosen)

    return decorate


@pytest.mark.parametrize("kind", EVERY)
def test_a_damaged_result_is_refused_or_used(documents, tmp_path, kind):
    @given_damage(20, derandomize=True, phases=[Phase.generate])
    def run(damage):
        check(documents, tmp_path, kind, damage)

    run()


@pytest.mark.parametrize("kind", EVERY)
def test_an_undamaged_result_is_used(documents, tmp_path, kind):
    assert not check(documents, tmp_path, kind, ([], []))


@pytest.mark.long
@pytest.mark.parametrize("kind", EVERY)
def test_no_damage_of_a_result_is_more_than_an_error(documents, tmp_path, kind):
    examples = refused = 0

    @given_damage(ROUND)
    def run(damage):
        nonlocal examples, refused
        examples += 1
        refused += check(documents, tmp_path, kind, damage)

    end = time.monotonic() + LONG_S / len(EVERY)
    rounds = 0
    print(f"\n{kind.__name__}, seed {SEED}")
    while time.monotonic() < end:
        seed(SEED + rounds)(run)()
        rounds += 1
    print(f"{examples:,} damaged files, {refused:,} refused")
