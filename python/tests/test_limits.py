"""Runs that never end: they stop at a limit, say how they stand, and stall no study."""

import json
import re

import pytest

import narthex
from narthex import NarthexError
from narthex.cli import main

ENDLESS = """
#include "narthex.h"
static volatile unsigned long turns;
__attribute__((noinline)) static void work(void) { for (;;) turns = turns + 1; }
int main(int argc, char **argv) {
    (void)argv;
    if (narthex_node() == 0 && argc > 1) work();
    narthex_barrier();
    return 0;
}
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    file = tmp_path_factory.mktemp("endless") / "endless.c"
    file.write_text(ENDLESS)
    return file


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code


def test_a_run_stops_at_the_simulated_time_and_says_how_it_stands(endless):
    with pytest.raises(NarthexError, match="has not ended by the simulated time 150us") as found:
        narthex.run(endless, "on", nodes=2, until="150us")
    assert found.value.exit_code == 1
    told = str(found.value)
    assert "node 0 executes its program" in told
    assert re.search(r"in work \(endless.c:\d+\)", told)
    assert "node 1 waits for a message" in told
    document = found.value.document
    assert document["ending"] == "until"
    assert document["simulated_ps"] == 150_000_000
    assert sum(document["nodes"][0]["processors"][0]["ledger_ps"].values()) == 150_000_000
    assert [wait["rank"] for wait in document["state"]["waits"]] == [0, 1]


def test_where_a_run_stops_depends_neither_on_threads_nor_on_computed_loops(endless):
    def at(**how):
        with pytest.raises(NarthexError) as found:
            narthex.run(endless, "on", nodes=4, until="70us", **how)
        return found.value.document

    assert at() == at(threads=2) == at(execute_wait_loops=True)


def test_a_run_that_ends_before_its_limits_is_the_same(endless):
    plain = narthex.run(endless, nodes=2).document
    assert narthex.run(endless, nodes=2, until="1s", timeout="900s").document == plain


def test_a_run_stops_after_this_computers_time(endless):
    with pytest.raises(NarthexError, match=r"not ended within 200ms of this computer's time") as it:
        narthex.run(endless, "on", nodes=2, timeout="200ms")
    assert it.value.document["ending"] == "timeout"
    assert "node 0 executes its program" in str(it.value)


@pytest.mark.parametrize(("limit", "told"), [("0ns", "until is 0ns"), ("soon", "until: ")])
def test_a_limit_that_is_no_time_is_refused(endless, limit, told):
    with pytest.raises(NarthexError, match=told) as found:
        narthex.run(endless, nodes=2, until=limit)
    assert found.value.exit_code == 2


def test_a_run_that_never_ends_does_not_stall_a_sweep(endless, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep = {"name": "s", "program": str(endless), "nodes": 2, "parameters": {"args": ["", "on"]}}
    table = narthex.sweep(sweep, jobs=1, until="2ms")
    assert table["status"].to_list() == ["finished", "failed"]
    assert "has not ended by the simulated time 2ms" in table["error"][1]


def test_a_run_that_faults_writes_its_page_and_its_document(tmp_path, capsys):
    file = tmp_path / "wild.c"
    file.write_text("int main(void) { *(volatile int *)8 = 1; return 0; }")
    page, document = tmp_path / "wild.html", tmp_path / "wild.json"
    assert command("run", file, "-n", 1, "--report", page, "--json", document) == 1
    assert "node 0" in capsys.readouterr().err
    found = json.loads(document.read_text())
    assert found["ending"] == "failed"
    assert "0x8" in found["failure"]
    text = page.read_text()
    assert text.index("How the run ended") < text.rindex("Where the time went")


def test_a_run_that_hangs_writes_its_page(tmp_path):
    page = tmp_path / "hang.html"
    setting = "machine.time_without_progress=100us"
    arguments = ["hangs", "deaf", "-i", "NI2w", "-n", 2, "--set", setting]
    assert command("run", *arguments, "--report", page) == 3
    assert "node 0 waits for node 1, which takes no messages" in page.read_text()
