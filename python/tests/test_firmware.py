"""Machines with firmware, from C: built, replaced, refused, and the same however it is run."""

import subprocess
import sys

import polars as pl
import pytest

import narthex
from narthex import compiler, firmware, identity
from narthex.assets import GUEST
from narthex.cli import main
from narthex.ledgers import ledger_rows, ledger_shares, region_ledger_rows
from narthex.sweeps import loading, planning

MACHINE = GUEST / "examples" / "forwarder.toml"
FORWARDER = GUEST / "firmware" / "forwarder" / "forwarder.c"


def test_a_program_runs_over_firmware_that_comes_with_narthex():
    result = narthex.run("roundtrip", 64, 20, machine=MACHINE, interface="NI2w", nodes=2)
    node = result.document["nodes"][0]
    assert result.value("round-trip latency") > 1000
    assert [processor.get("firmware") for processor in node["processors"]] == [None, True]
    counts = node["statistics"]
    assert counts["forwarded_to_network"] == counts["messages_sent"] > 40
    ledger = node["processors"][1]["ledger_ps"]
    assert {"poll / interrupt", "send / uncached access"} <= ledger.keys()
    assert sum(ledger.values()) == result.document["simulated_ps"]


@pytest.mark.parametrize("program", ["messages", "em3d"])
def test_programs_check_what_they_compute_over_firmware(program):
    args = (64,) if program == "em3d" else ()
    narthex.run(program, *args, machine=MACHINE, interface="CNI32Qm", nodes=2)


def test_results_with_firmware_are_the_same_on_two_threads():
    asked = {"machine": MACHINE, "interface": "CNI32Qm", "nodes": 4}
    one, two = (narthex.run("roundtrip", 64, 20, threads=threads, **asked) for threads in (1, 2))
    assert one.document == two.document


def test_firmware_of_ones_own_takes_the_place_of_what_comes_with_narthex(tmp_path):
    own = tmp_path / "own.c"
    # It computes before each look: slower, and another file.
    slow = "for (volatile int turns = 0; turns < 200; turns++)\n;\nuint64_t shown"
    own.write_text(FORWARDER.read_text().replace("uint64_t shown = status", f"{slow} = status"))
    asked = {"machine": MACHINE, "interface": "NI2w", "nodes": 2}
    shipped = narthex.run("roundtrip", 64, 20, **asked)
    for given in ([str(own)], [f"forwarder={own}"], {"forwarder": own}):
        slower = narthex.run("roundtrip", 64, 20, firmware=given, **asked)
        assert slower.value("round-trip latency") > shipped.value("round-trip latency") + 1000
    assert (
        slower.document["firmware_sha256"]["forwarder"]
        != shipped.document["firmware_sha256"]["forwarder"]
    )


def test_firmware_decides_a_run():
    program = narthex.programs.find("roundtrip")
    asked = {"program": "roundtrip", "args": [], "interface": "NI2w"}
    keys = {
        identity.run_key(
            {**asked, "firmware": {"forwarder": {"elf": elf}}}, {"machine": {}}, program
        )
        for elf in ("00", "01")
    }
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["forwader=x.elf"], "did you mean"),
        (["forwarder=none.elf"], "none.elf"),
    ],
)
def test_firmware_that_is_not_there_is_refused(given, message):
    with pytest.raises(narthex.NarthexError, match=message):
        narthex.run("roundtrip", machine=MACHINE, interface="NI2w", nodes=2, firmware=given)


def test_firmware_of_a_machine_without_any_is_refused():
    with pytest.raises(narthex.NarthexError, match="it runs none"):
        narthex.run("roundtrip", nodes=2, firmware=["some.elf"])


def test_firmware_for_another_address_is_refused_with_file_and_key(tmp_path):
    flags = ["-DFIRMWARE_START=0x4000000"]
    elf = compiler.compile_firmware([FORWARDER], tmp_path / "far.elf", extra_flags=flags)
    with pytest.raises(narthex.NarthexError) as caught:
        narthex.run("roundtrip", machine=MACHINE, interface="NI2w", nodes=2, firmware=[str(elf)])
    message = str(caught.value)
    assert "node.processors.service.runs" in message
    assert "far.elf' has a segment from 0x4000000" in message
    assert "node.memories.service_memory has 0x10000 to 0x110000" in message


def test_a_fault_of_firmware_has_its_function_and_line(tmp_path):
    source = tmp_path / "wrong.c"
    source.write_text(
        '#include "firmware/firmware.h"\n'
        "static void touch(void) {\n"
        "    store_register(0x40000000, 1);\n"
        "}\n"
        "int main(void) {\n"
        "    touch();\n"
        "}\n"
    )
    with pytest.raises(narthex.NarthexError) as caught:
        narthex.run("roundtrip", machine=MACHINE, interface="NI2w", nodes=2, firmware=[str(source)])
    message = str(caught.value)
    assert "node 0, firmware on processor 1: store to 0x40000000" in message
    assert "wrong.c" in message


def test_firmware_that_never_forwards_is_explained(tmp_path):
    source = tmp_path / "idle.c"
    source.write_text(
        '#include "firmware/firmware.h"\n'
        "int main(void) {\n    for (;;)\n        wait_for_interrupt();\n}\n"
    )
    with pytest.raises(narthex.NarthexError) as caught:
        narthex.run("roundtrip", machine=MACHINE, interface="NI2w", nodes=2, firmware=[str(source)])
    message = str(caught.value)
    assert caught.value.exit_code == 3
    assert "firmware on processor 1: waits for an interrupt; lines" in message
    assert "main (" in message


def test_a_handler_is_called_for_its_line_and_the_program_goes_on(tmp_path):
    source = tmp_path / "called.c"
    loop = "int main(void)"
    text = FORWARDER.read_text().replace(loop, "static int serve(void)")
    source.write_text(
        text
        + """
/* All work is done in the handler of lines 0 and 1, which cannot wait for room. */
void handle_interrupt(unsigned line) {
    const struct direction *direction = line == 0 ? &TO_NETWORK : &TO_HOST;
    while (!can_forward(direction, status()))
        if (can_forward(line == 0 ? &TO_HOST : &TO_NETWORK, status()))
            forward(line == 0 ? &TO_HOST : &TO_NETWORK);
    forward(direction);
}
int main(void) {
    if (false)
        serve();
    enable_lines(FORWARDER_FROM_HOST | FORWARDER_FROM_NETWORK);
    enable_interrupts();
}
"""
    )
    result = narthex.run(
        "roundtrip", 64, 20, machine=MACHINE, interface="NI2w", nodes=2, firmware=[str(source)]
    )
    counts = result.document["nodes"][0]["statistics"]
    assert counts["forwarded_to_network"] == counts["messages_sent"]


def test_firmware_has_a_column_in_the_ledger_and_in_that_of_a_programs_region():
    document = narthex.run("roundtrip", 64, 20, machine=MACHINE, interface="NI2w", nodes=2).document
    whole, _ = ledger_shares(document, ledger_rows(document))
    region, _ = ledger_shares(document, region_ledger_rows(document, "round trips"))
    assert whole == ["node 0", "node 0, firmware", "node 1", "node 1, firmware"]
    assert region == ["node 0", "node 0, firmware", "node 1"]  # node 0 marks it


QUIET = """
#include "narthex.h"
int main(void) { narthex_pause(100000); return 0; }
"""

TELLING = """
#include "firmware/firmware.h"
#include "firmware/print.h"
__attribute__((noinline)) static uint64_t sum_up(uint64_t last) {
    uint64_t sum = 0;
    for (volatile uint64_t each = 1; each <= last; each++)
        sum += each;
    return sum;
}
int main(void) {
    firmware_region_begin("summing up");
    firmware_report("sum", sum_up(100), "numbers");
    firmware_region_end("summing up");
    firmware_printf("%d|%5u|%05d|%lx|%c|%s|%%|%p\\n", -42, 7u, -3, 0xdeadbeefcaful, 'c', "text",
                    (void *)0x10);
    for (;;)
        wait_for_interrupt();
}
"""


def test_firmware_reports_marks_regions_and_prints(tmp_path, capsys):
    source, quiet = tmp_path / "telling.c", tmp_path / "quiet.c"
    source.write_text(TELLING)
    quiet.write_text(QUIET)
    machine = ["-m", str(MACHINE), "-i", "NI2w", "-n", "1"]
    with pytest.raises(SystemExit) as ended:
        main(["run", str(quiet), *machine, "--firmware", str(source)])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "[0, firmware] -42|    7|-0003|deadbeefcaf|c|text|%|10" in told
    (reported,) = (line for line in told.splitlines() if "5,050" in line)
    assert reported.split() == ["0,", "firmware", "sum", "5,050.00", "numbers"]
    assert "region 'summing up'" in told


def test_a_profile_has_the_functions_and_lines_of_firmware_apart(tmp_path):
    source, quiet = tmp_path / "telling.c", tmp_path / "quiet.c"
    source.write_text(TELLING)
    quiet.write_text(QUIET)
    result = narthex.run(
        quiet, machine=MACHINE, interface="NI2w", nodes=1, firmware=[str(source)], profile=True
    )
    of_firmware = result.profile.filter(pl.col("processor") == 1)
    assert {"sum_up [firmware]", "main [firmware]"} <= set(of_firmware["function"])
    lines = of_firmware.filter(pl.col("function") == "sum_up [firmware]")["line"]
    assert {6, 7} <= set(lines)
    assert "main" in set(result.profile.filter(pl.col("processor") == 0)["function"])


def test_the_names_of_a_machines_firmware_are_found():
    assert firmware.names_in(str(MACHINE)) == ["forwarder"]
    assert firmware.names_in("hpca98") == []
    assert "forwarder" in compiler.firmware_names()


def test_a_checkpoint_with_firmware_goes_on(tmp_path):
    asked = {"machine": MACHINE, "interface": "NI2w", "nodes": 2}
    whole = narthex.run("roundtrip", 64, 3000, **asked)
    place = tmp_path / "run.checkpoint"
    with pytest.raises(narthex.NarthexError, match="interrupted"):
        narthex.run(
            "roundtrip", 64, 3000, checkpoint=place, resume=True,
            observer=lambda _time_ps: False, **asked,
        )  # fmt: skip
    resumed = narthex.run("roundtrip", 64, 3000, checkpoint=place, resume=True, **asked)
    assert resumed.document == whole.document


def test_a_timeline_has_a_track_for_the_processor_with_firmware(tmp_path):
    trace = tmp_path / "run.vcd"
    narthex.run("roundtrip", 64, 5, machine=MACHINE, interface="NI2w", nodes=2, trace=trace)
    assert "firmware" in trace.read_text()


def test_the_machines_check_says_which_firmware_it_runs(tmp_path):
    own = tmp_path / "own.toml"
    other = f'base = "{MACHINE}"\n[node.processors.service]\nruns = "firmware/mine"\n'
    own.write_text(other)
    for machine, told in [
        (MACHINE, "can be run, with firmware forwarder (comes with Narthex)"),
        (own, "can be run, once it is given --firmware mine=FILE"),
    ]:
        command = [sys.executable, "-m", "narthex", "machine", "check", str(machine)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert told in done.stdout


def test_a_sweep_has_the_firmware_of_its_machine(tmp_path):
    elf = compiler.compile_firmware([FORWARDER], tmp_path / "own.elf")
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'program = "roundtrip"\nargs = "64 20"\nmachine = "{MACHINE.resolve()}"\n'
        'interface = "NI2w"\nnodes = 2\nfirmware = ["forwarder=./own.elf"]\n'
        "[parameters]\nforwarder.entries = [2, 4]\n"
    )
    runs = planning.plan(loading.load(file), file).runs
    assert [run.request["firmware"]["forwarder"]["elf"] for run in runs] == [
        elf.read_bytes().hex()
    ] * 2
