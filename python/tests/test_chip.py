"""A chip of tiles whose caches a directory keeps coherent: from the command line to a page."""

import json
from pathlib import Path

import pytest

from narthex.cli import main

SORT = ("run", "thread-sort", "1024", "16", "--machine", "chip", "--interface", "NI2w")


def command(*arguments: str) -> int:
    """Run a command of the command line; returns its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_threads_sort_over_all_tiles_and_a_page_shows_the_links(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = []
    for threads in ("1", "2"):
        file = tmp_path / f"sort{threads}.json"
        assert command(*SORT, "--threads", threads, "--json", str(file)) == 0
        documents.append(json.loads(file.read_text()))
    first, second = documents
    assert first == second, "threads of the host change nothing"
    statistics = first["nodes"][0]["statistics"]
    hops = statistics["directory_hops"]
    assert hops["two"] > hops["three"] > 0
    retired = [processor["retired"] for processor in first["nodes"][0]["processors"]]
    assert min(retired) > 1000, "each tile has a thread"
    links = first["network_on_chip"]["links"]
    assert len(links) == 2 * 24 + 16, "24 pairs of neighbours, and 16 places"
    assert sum(link["parcels"] for link in links) == statistics["on_chip_links"]
    page = tmp_path / "sort.html"
    assert command("report", str(tmp_path / "sort1.json"), "-o", str(page)) == 0
    assert "Network on chip" in page.read_text()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("interface", "setting", "key"),
    [
        ("NI2w", "network_on_chip.lanes=2", "network_on_chip.lanes: 2 is not from 3"),
        ("NI2w", "node.memories.main_memory.at=[0,16]", "node.memories.main_memory.at: 16"),
    ],
)
def test_what_cannot_be_on_a_chip_is_refused_with_its_key(
    capsys: pytest.CaptureFixture[str], interface: str, setting: str, key: str
) -> None:
    settings = ("--interface", interface, "--set", setting)
    assert command("run", "hello", "--machine", "chip", *settings) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert key in told
