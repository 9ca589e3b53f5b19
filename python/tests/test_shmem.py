"""OpenSHMEM: programs that check themselves, the order of puts, wrong calls, its page."""

import json
import re
import subprocess

import native
import pytest

import narthex
from narthex import _native
from narthex.assets import GUEST
from narthex.documentation import DOCS

PROGRAMS = GUEST / "programs"
HEADER = GUEST / "shmem" / "include" / "shmem.h"
HPCA98 = {"machine": "hpca98"}
SARC = {"machine": "sarc-prototype", "interface": "SARC"}

ALL_PARTS = [
    HPCA98 | {"interface": "NI2w", "nodes": 3, "set": ["flow_control.buffers=1"]},
    HPCA98 | {"interface": "CNI512Q", "nodes": 8, "set": ["flow_control.buffers=2"]},
    {
        "machine": "isca96",
        "interface": "CNI4",
        "nodes": 2,
        "set": ["machine.processors_per_node=3"],
    },
    SARC,
]
ONE_PART = [
    *[
        HPCA98 | {"interface": name, "nodes": 3}
        for name in ("CNI0Qm", "CNI16Q", "CNI16Qm", "CNI32Qm", "CNI32Qm+Throttle")
    ],
    *[
        HPCA98 | {"interface": name, "nodes": 2}
        for name in (
            *("NI16w+Blkbuf", "NI64w+Udma", "Ring", "CxlNic", "CxlNic2", "Virtio", "CoherentRing"),
            *("Verbs", "RegisterFile"),
        )
    ],
    {"machine": "chip", "interface": "PioCoherent", "nodes": 2},
    *[
        {"machine": "edt", "interface": name, "nodes": 2}
        for name in (
            *("EDT", "EDT+DmaReceive", "CCDMA-intervention", "CCDMA-retry", "DMA-flush"),
            *("PIO", "PIO+WriteCombining"),
        )
    ],
    *[
        {"machine": "voyager", "interface": f"Voyager-{name}", "nodes": 2}
        for name in ("resident", "nonresident", "hybrid", "CNI")
    ],
    SARC | {"interface": "SARC+Nack"},
    {"machine": "sarc-chip", "interface": "SARC"},
]
"""Every interface that ALL_PARTS does not have."""


def run(*arguments, program="shmem", **where):
    said = []
    result = narthex.run(program, *arguments, **where, output=lambda *told: said.append(told[-1]))
    return result, b"".join(said).decode()


def named(where):
    return f"{where['machine']}-{where['interface']}"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds a program for the host, once."""
    folder = tmp_path_factory.mktemp("native")

    def build(name):
        sources = sorted((PROGRAMS / name).glob("*.c")) or [PROGRAMS / "tests" / f"{name}.c"]
        output = folder / name
        return output if output.exists() else native.build(sources, output)

    return build


@pytest.mark.parametrize("pes", [1, 5])
@pytest.mark.parametrize("program", ["shmem", "shmem-collectives"])
def test_all_parts_hold_natively(built, program, pes):
    done = native.run(built(program), ranks=pes)
    assert (done.returncode, done.stdout) == (0, f"OpenSHMEM: all over {pes} PEs\n"), done.stderr


@pytest.mark.parametrize("program", ["shmem", "shmem-collectives"])
@pytest.mark.parametrize("where", ALL_PARTS, ids=named)
def test_all_parts_hold(where, program):
    assert "OpenSHMEM: all over" in run(program=program, **where)[1]


VOYAGER = {"machine": "voyager", "interface": "Voyager-resident", "nodes": 2}


EDT = {"machine": "edt", "interface": "EDT", "nodes": 2}


@pytest.mark.parametrize("where", [VOYAGER, EDT | {"nodes": 3}], ids=named)
def test_all_parts_hold_where_blocks_are_transferred(where):
    assert "OpenSHMEM: all over" in run(**where)[1]


def test_transfers_hold_between_processes_that_share_an_interface_with_rdma():
    where = EDT | {"set": ["machine.processors_per_node=2"]}
    assert "OpenSHMEM: transfers over 4 PEs" in run("transfers", **where)[1]


@pytest.mark.parametrize(
    ("where", "setting", "least", "most"),
    [
        (VOYAGER, "operating_system.pinned_pages=8192", 0, 130),
        (VOYAGER, "operating_system.pinned_pages=2", 170, 250),
        (EDT, "operating_system.pinned_pages=8192", 0, 50),
        (EDT, "operating_system.pinned_pages=20", 120, 180),
        (EDT, "interfaces.via.vis=1", 120, 180),
    ],
)
def test_blocks_are_transferred_and_go_in_packets_where_interface_or_memory_is_short(
    where, setting, least, most
):
    result, _ = run(4096, 3, 2, 2, program="shmem-latency", **where, set=[setting])
    for call in ("put and quiet", "get"):
        assert least * 1000 < result.value(call) < most * 1000


REFUSED = """
#include <messaging/narthex.h>
#include <shmem.h>

enum { PAGE_BYTES = 4096, PINNED_PAGES = 4, GETS = 100 };

int main(void) {
    shmem_init();
    int me = shmem_my_pe();
    char *pinned = shmem_align(PAGE_BYTES, PINNED_PAGES * PAGE_BYTES);
    char *other = shmem_align(PAGE_BYTES, PAGE_BYTES), *mine = shmem_align(PAGE_BYTES, PAGE_BYTES);
    for (int page = 0; me == 1 && page < PINNED_PAGES; page++)
        shmem_putmem(mine, pinned + page * PAGE_BYTES, PAGE_BYTES, 0);
    shmem_barrier_all();
    for (int get = 0; me == 0 && get < GETS; get++)
        shmem_getmem(mine, other, PAGE_BYTES, 1);
    uint64_t begin = narthex_time_ns();
    if (me == 0)
        shmem_getmem(mine, pinned, PAGE_BYTES, 1);
    if (me == 0)
        narthex_report("last get", (double)(narthex_time_ns() - begin), "ns");
    shmem_finalize();
    return 0;
}
"""


def test_a_get_that_its_target_refuses_to_transfer_leaves_no_channel_unused(tmp_path):
    """PE 1 has put from as many pages as it may pin, so it refuses gets of other memory."""
    program = tmp_path / "refused.c"
    program.write_text(REFUSED)
    result, _ = run(program=program, **VOYAGER, set=["operating_system.pinned_pages=4"])
    assert result.value("last get") < 70_000


def test_no_interface_is_left_out():
    tested = {where["interface"] for where in (*ALL_PARTS, *ONE_PART)}
    # PcieBench carries no messages.
    every = {each["name"] for each in json.loads(_native.list("interfaces"))}
    assert tested == every - {"PcieBench"}


@pytest.mark.parametrize("where", ONE_PART, ids=named)
def test_puts_fences_and_flags_keep_their_order_over_every_interface(where):
    assert "OpenSHMEM: order over" in run("order", 1, **where)[1]


@pytest.mark.parametrize(("interface", "buffers"), [("NI2w", 4), ("CNI512Q", 3), ("CNI32Qm", 8)])
def test_a_flag_behind_a_fence_waits_for_packets_that_were_sent_back(interface, buffers):
    """Without the fence's count of messages, PE 0 sees flags before data in all three."""
    settings = [f"flow_control.buffers={buffers}"]
    result, _ = run("crowd", 6, machine="hpca98", interface=interface, nodes=16, set=settings)
    nodes = result.document["nodes"]
    assert sum(each["statistics"]["packets_returned"] for each in nodes) > 0


def test_a_run_is_the_same_with_two_threads():
    one, two = (
        run("order", 2, machine="hpca98", interface="CNI512Q", nodes=4, threads=threads)[0]
        for threads in (1, 2)
    )
    assert one.to_json() == two.to_json()


def test_a_put_over_sarc_needs_no_call_of_its_target():
    assert "passive over 4 PEs" in run("passive", **SARC)[1]


def test_a_put_by_messages_needs_calls_of_its_target():
    with pytest.raises(narthex.NarthexError, match="no progress"):
        run("passive", nodes=2)


@pytest.mark.parametrize(
    ("program", "arguments"), [("shmem-sort", (900, 2)), ("shmem-updates", (300, 700))]
)
def test_a_programs_result_does_not_depend_on_its_pes(built, program, arguments):
    done = native.run(built(program), *arguments)
    expected = float(re.search(r"checksum: (\S+)", done.stdout)[1])
    for where in (HPCA98 | {"interface": "CNI32Qm", "nodes": 5}, SARC):
        result, _ = run(*arguments, program=program, **where)
        assert float(f"{result.value('checksum'):.12g}") == expected


MISTAKES = {
    "address": r"shmem_int_put for 4 bytes at 0x\w+, which are not in symmetric memory: global .*"
    r"the symmetric heap, 0x\w+ to 0x",
    "end": "shmem_putmem for 1073741824 bytes at .* not in symmetric memory",
    "pe": "shmem_long_atomic_inc for PE 3: the PEs of this run are 0 to 2",
    "root": "shmem_long_broadcast for PE -1: the PEs of this run are 0 to 2",
    "free": "shmem_free for 0x.* not the beginning of memory that shmem_malloc",
    "size": r"shmem_malloc with \d+ bytes, and PE \d with \d+",
    "collective": r"shmem_long_\w+ while PE \d calls shmem_long_\w+: ",
    "count": r"shmem_long_fcollect with \d+ bytes, and PE \d with \d+",
    "lock": "shmem_clear_lock for a lock that it does not have",
    "team": "shmem_team_split_strided for start 0, stride 1 and size 4",
    "stride": "shmem_long_iput with a stride of 0",
    "comparison": "shmem_long_wait_until with comparison 9",
    "after": "shmem_barrier_all after shmem_finalize",
    "before": "shmem_barrier_all before shmem_init",
    "exit": "shmem_global_exit with status 3",
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_wrong_call_names_pe_function_and_what_is_allowed(what):
    with pytest.raises(narthex.NarthexError, match=rf"(?s)PE \d calls {MISTAKES[what]}") as told:
        run(what, program="shmem-wrong", interface="CNI32Qm", nodes=3)
    assert told.value.exit_code == 1


def test_an_exit_of_one_pe_ends_all():
    done = run("good-exit", program="shmem-wrong", interface="CNI32Qm", nodes=3)
    assert "OpenSHMEM" not in done[1]


def test_the_environment_states_the_symmetric_heap(built):
    program = built("shmem-wrong")
    done = native.run(program, "end", SHMEM_SYMMETRIC_SIZE="64K")
    begin, end = re.search(r"heap, (0x\w+) to (0x\w+)", done.stderr).groups()
    assert int(end, 16) + 1 - int(begin, 16) == 64 << 10
    done = native.run(program, SHMEM_SYMMETRIC_SIZE="lots")
    assert 'SHMEM_SYMMETRIC_SIZE is "lots"; expected a number of bytes' in done.stderr


def test_cpp_has_the_typed_names(tmp_path):
    source = tmp_path / "typed.cpp"
    source.write_text(
        "#include <shmem.h>\n"
        "#include <stdio.h>\n"
        "static unsigned bits;\n"
        "int main() {\n"
        "    shmem_init();\n"
        "    shmem_uint_atomic_or(&bits, 1u << shmem_my_pe(), 0);\n"
        "    shmem_barrier_all();\n"
        "    shmem_sync(SHMEM_TEAM_WORLD);\n"
        '    printf("%u\\n", shmem_uint_g(&bits, 0));\n'
        "    shmem_finalize();\n"
        "}\n"
    )
    assert run(program=str(source), interface="CNI32Qm", nodes=3)[1] == "7\n7\n7\n"


# What the header declares, and its page tells.

TYPES = re.findall(r"EACH\(FAMILY, [\w ]+, +(\w+), ", (GUEST / "shmem" / "types.h").read_text())
NAMES = "|".join(sorted({*TYPES, "complexf", "complexd"}, key=len, reverse=True))


def declared():
    """Return the functions that shmem.h declares."""
    command = [*native.host_compiler(), "-std=c11", "-E", "-P", f"-I{GUEST}", str(HEADER)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"\b(shmem_\w+)\s*\(", text)))


def family(function):
    """Return a function's name as the page has it: with TYPE, SIZE, and no context."""
    name = re.sub("^shmem_ctx_(?!get_team)(?=.*(put|get|_p$|_g$|atomic))", "shmem_", function)
    name = re.sub(rf"^shmem_({NAMES})_", "shmem_TYPE_", name)
    return re.sub(r"(put|get|broadcast|collect|alltoalls?)(8|16|32|64|128)(?=_|$)", r"\1SIZE", name)


def test_every_function_of_the_header_is_there(tmp_path):
    functions = declared()
    source = tmp_path / "all.c"
    table = ",\n".join(f"(void *)&({name})" for name in functions)
    source.write_text(
        f"#include <shmem.h>\nvoid *all[] = {{{table}}};\nint main(void) {{ return !all[0]; }}\n"
    )
    native.build([source], tmp_path / "all")
    assert len(functions) > 1500


def test_the_pages_table_has_the_headers_functions():
    page = (DOCS / "openshmem.md").read_text(encoding="utf-8")
    listed = {}
    for cell, count in re.findall(r"^\| (`shmem_.*?) \| ([\d,]+) \|", page, flags=re.MULTILINE):
        listed[frozenset(re.findall(r"`(\w+)`", cell))] = int(count.replace(",", ""))
    counted = dict.fromkeys(listed, 0)
    for function in declared():
        (row,) = [row for row in listed if family(function) in row] or [f"no row: {function}"]
        counted[row] += 1
    assert counted == listed
    assert {name for row in listed for name in row} == {family(each) for each in declared()}
