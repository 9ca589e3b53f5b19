"""For what was waited: as the ledger has it, ranked, in frames, on pages, in the terminal."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import narthex
from narthex import report, waits
from narthex.cli import run_tables
from narthex.errors import NarthexError
from narthex.ledgers import ledger_rows, region_ledger_rows

RUNS: list[tuple[str, tuple[object, ...], dict[str, Any]]] = [
    ("roundtrip", (64, 5), {"machine": "hpca98", "interface": "NI2w", "nodes": 2}),
    ("roundtrip", (64, 5), {"machine": "hpca98", "interface": "CNI32Qm", "nodes": 2}),
    ("roundtrip", (64, 5), {"machine": "hpca98", "interface": "NI64w+Udma", "nodes": 2}),
    ("roundtrip", (64, 5), {"machine": "isca96", "interface": "NI2w on io-bus", "nodes": 2}),
    ("roundtrip", (64, 5), {"machine": "isca96", "interface": "CNI16Q on io-bus", "nodes": 2}),
    ("thread-sort", (256, 4), {"machine": "chip", "interface": "NI2w"}),
    ("roundtrip", (64, 5), {"machine": "edt", "interface": "EDT", "nodes": 2}),
    ("roundtrip", (64, 5), {"machine": "edt", "interface": "CCDMA-retry", "nodes": 2}),
    ("roundtrip", (64, 5), {"machine": "voyager", "interface": "Voyager-resident", "nodes": 2}),
    ("roundtrip", (64, 5), {"machine": "voyager", "interface": "Voyager-nonresident", "nodes": 2}),
    ("sarc-remote-store", (), {"machine": "sarc-prototype", "interface": "SARC", "nodes": 1}),
]
"""A run on machines of each system."""


def waiting_part(ledger: Iterable[tuple[int, int, str, str, int]]) -> Counter[tuple[Any, ...]]:
    """Return the parts of a ledger in which a processor waits, told in another way."""
    busy = {"execute", "system call"}
    idle = {"exited", "idle"}
    only_wait = {"poll", "wait to send", "synchronisation"}
    parts = Counter[tuple[Any, ...]]()
    for *cell, time_ps in ledger:
        _, _, activity, occupation = cell
        if activity not in idle and (occupation not in busy or activity in only_wait):
            parts[tuple(cell)] += time_ps
    return parts


@pytest.mark.parametrize(("program", "args", "asked"), RUNS)
def test_the_waits_of_processors_add_up_to_the_ledgers_waiting_parts(
    program: str, args: tuple[object, ...], asked: dict[str, Any]
) -> None:
    result = narthex.run(program, *args, **asked)
    sums = Counter[tuple[Any, ...]]()
    for row in waits.processor_rows(result.document):
        assert row.time_ps > 0
        assert row.cause in waits.MEANINGS
        sums[row.node, row.processor, row.activity, row.occupation] += row.time_ps
    assert sums == waiting_part(ledger_rows(result.document))
    assert sums, "each of these programs waits"
    frame = result.waits.filter(result.waits["who"] == "processors")
    assert frame["time_ps"].sum() == sum(sums.values())
    for region in result.regions:
        found = waits.processor_rows(result.document, region)
        part = waiting_part(region_ledger_rows(result.document, region))
        assert sum(row.time_ps for row in found) == sum(part.values())


@pytest.mark.parametrize(
    ("interface", "machine"),
    [("NI2w", "hpca98"), ("CNI32Qm", "hpca98"), ("NI2w on io-bus", "isca96")],
)
def test_waits_are_the_same_however_a_run_is_made(
    tmp_path: Path, interface: str, machine: str
) -> None:
    """Computed or executed, on one thread or two, and where a timeline has each step simulated."""
    asked: dict[str, Any] = {"interface": interface, "machine": machine, "nodes": 4}
    first = narthex.run("em3d", 64, 1, **asked).waits
    for way in ({"threads": 2}, {"execute_wait_loops": True}, {"trace": tmp_path / "t.pftrace"}):
        assert narthex.run("em3d", 64, 1, **asked, **way).waits.equals(first), way


def resources(interface: str, machine: str = "hpca98", **asked: Any) -> Counter[str]:
    """Return for what transactions waited in the round trips of a run."""
    result = narthex.run(
        "roundtrip", 64, 20, interface=interface, machine=machine, nodes=2, **asked
    )
    found = Counter[str]()
    for row in waits.processor_rows(result.document, "round trips"):
        found[row.resource or ""] += row.time_ps
    return found


def test_each_interface_is_waited_for_as_its_design_says() -> None:
    registers, queues = resources("NI2w"), resources("CNI32Qm")
    assert registers["interface"] > registers["main memory"], "words cross through registers"
    assert queues["right to write"] > registers["right to write"], "blocks of queues are shared"
    assert queues["interface"] < registers["interface"]
    assert registers["retry"] == queues["retry"] == 0, "nothing refuses on this bus"
    assert resources("CCDMA-retry", "edt")["retry"] > 0, "owners push their blocks home"


def test_packets_wait_from_their_return_to_the_next_attempt() -> None:
    result = narthex.run(
        "all-to-all", 64, interface="NI2w", nodes=4, set={"flow_control.buffers": 1}
    )
    counted = [node["statistics"] for node in result.document["nodes"]]
    delay_ps = 1000 * int(re.sub(r"\D", "", str(value_of(result, "flow_control", "retry_delay"))))
    retried = sum(each["packets_retried"] for each in counted)
    assert retried > 0
    waited = sum(each["packets_waited_to_retry"] for each in counted)
    assert waited == retried * delay_ps, "each buffer tries again by itself"
    frame = result.waits.filter(result.waits["cause"] == "another attempt")
    assert (frame["time_ps"].sum(), frame["times"].sum()) == (waited, retried)


def value_of(result: narthex.Result, table: str, key: str) -> object:
    """Return a parameter of a result's machine."""
    value = result.document["machine"][table][key]
    return value["value"] if isinstance(value, dict) else value


def test_a_result_of_an_earlier_version_is_told_to_be_made_again() -> None:
    result = narthex.run("roundtrip", 64, 5, nodes=2)
    for node in result.document["nodes"]:
        for processor in node["processors"]:
            del processor["waits_ps"]
    with pytest.raises(NarthexError, match="make it again"):
        _ = result.waits
    assert "Top waits" not in page_of(result)


def page_of(result: narthex.Result) -> str:
    from narthex.documents import RUN, Found

    return report.page([Found(RUN, result.document, "run")])


def test_top_waits_are_first_on_the_page_and_lead_to_what_shows_them() -> None:
    text = page_of(narthex.run("roundtrip", 64, 5, nodes=2, traffic=True))
    assert text.index(">Top waits<") < text.index(">Where the time went<")
    table = text[text.index('id="top-waits"') : text.index('id="where-the-time-went"')]
    targets = set(re.findall(r'href="#([^"]+)"', table))
    assert any(target.startswith("one-") for target in targets), "the message's life"
    assert "who-talks-to-whom" in targets
    assert all(f'id="{target}"' in text for target in targets)


def test_top_waits_come_first_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    result = narthex.run("roundtrip", 64, 5, nodes=2, interface="NI2w")
    run_tables.show(result.document)
    told = capsys.readouterr().out
    assert told.startswith("In region 'round trips', waited for most")
    assert told.index("waited for most") < told.index("Reported")
    assert "narthex explain NI2w --bytes 64" in told
    options = re.findall(r"the instants: add (--trace .*)", told)[0].split()
    region = next(each for each in result.document["regions"] if each["name"] == "round trips")
    begin_us = region["begin_ps"] // 1_000_000
    assert options[-4:] == ["--trace-from", f"{begin_us}us", "--trace-to", f"{begin_us + 20}us"]
