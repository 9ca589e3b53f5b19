"""SARC's tiles as hardware under programs: they do what they do over the model."""

import re

import pytest

import narthex
from narthex import compiler, documentation_pictures
from narthex.cosimulation import waves
from narthex.errors import NO_PROGRESS, NarthexError
from narthex.extras import lacking

pytestmark = pytest.mark.skipif(
    bool(lacking("hardware") or lacking("compiler")), reason="skipped: needs narthex[hardware]"
)


def run(program, *args, interface="SARC@rtl", settings=(), **how):
    return narthex.run(
        program, *args, interface=interface, machine="sarc-prototype", set=settings, **how
    )


PROGRAMS = [
    ("sarc-locks", "queue", 0, 20),
    ("sarc-locks", "queue-load", 0, 20),
    ("sarc-locks", "box", 0, 20),
    ("sarc-barriers", "counters", 0, 20),
    ("sarc-barriers", "mutex", 0, 20),
    ("sarc-remote-store", "store", 1, 10),
    ("sarc-remote-store", "copy", 2, 10),
    # A copy of bytes that are no words, whose acknowledgements a counter adds up.
    ("sarc-remote-store", "transfer", 1, 10, 203),
    ("sarc-stream", "on-chip", "dma", 3, 1, 2, 256, 2),
    # Loads of four bytes from DRAM, which answers with whole words.
    ("sarc-stream", "off-chip", "dma", 2, 1, 2, 256, 1),
    ("sarc-fft", 16, 4, "dma", 2),
    ("sarc-bitonic", 64, 4, "stores", 2, "merge"),
    ("em3d", 64, 2),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: "-".join(map(str, each)))
def test_a_program_does_the_same_over_hardware_and_model(program):
    model, hardware = (run(*program, interface=name) for name in ("SARC", "SARC@rtl"))
    assert hardware.document["output"] == model.document["output"]
    assert hardware.document["message_sizes"] == model.document["message_sizes"]
    names = [[each["name"] for each in each.document["reports"]] for each in (model, hardware)]
    assert names[0] == names[1]
    counts = hardware.document["nodes"][0]["statistics"]
    assert counts["hardware_cycles"] > 0
    assert counts["hardware_accesses"] > 0
    # Both have packets of the same kinds where nothing depends on who comes first.
    if program[0] == "sarc-remote-store":
        of_model = model.document["nodes"][0]["statistics"]["sarc_packets"]
        assert {kind for kind, count in counts["hardware_packets"].items() if count} <= {
            kind for kind, count in of_model.items() if count
        }


REFUSED = {
    "role": "there is no such role",
    "cache-mark": "the line is the cache's",
    "cache-load": "a load from .*the line is the cache's",
    "items": "the queue has no shape",
    "full": "the queue has no room",
    "notify": "the table of regions refuses an address",
    "beyond": "a packet or job of tile 0 .*the line is the cache's",
    "long": "there is no such command, or not of so many bytes",
    "nowhere": "the table of regions refuses an address",
    "twice": "a command's word is stored twice",
    "operation": "there is no such command",
    "freed": "the line is the cache's",
    "swapped": "the line is the cache's",
    "head": "the queue's head cannot go there",
    "uncovered": "no address region of the tile covers 0x1280000000",
    "forbidden": "allows loads alone, and this is a store at 0x1280000",
    "source": "the table of regions refuses an address",
}
"""The mistakes of guest/programs/tests/sarc.c; a queue of too few lines is refused when it comes to
the line that it lacks (docs/lockstep.md)."""

WAITS = """
#include <narthex.h>
#include <sarc/sarc.h>
int main(void) {
    uint64_t *queue = sarc_allocate(2);
    sarc_make_queue(queue, SARC_ROLE_MULTIPLE_READER, 1, 2);
    return (int)sarc_load(queue);
}
"""


def test_threads_wait_loops_and_waves_change_nothing(tmp_path):
    def document(**how):
        return run("sarc-barriers", "counters", 0, 5, **how).document

    file = tmp_path / "tiles.vcd"
    expected = document()
    assert document(threads=2) == expected
    assert document(waves=file) == expected
    executed = document(execute_wait_loops=True)
    assert executed["simulated_ps"] == expected["simulated_ps"]
    assert executed["reports"] == expected["reports"]
    text = file.read_text()
    assert re.findall(r"\$scope module (node_0|tile_\d) ", text)[:2] == ["node_0", "tile_0"]
    # The view beside them names signals that are there, with their bits.
    view = file.with_suffix(".gtkw").read_text()
    named = re.findall(r"^\+\{[^}]+\} (node_0\.tile_\d\.\w+)(?:\[(\d+):0\])?$", view, re.MULTILINE)
    assert len(named) == 4 * sum(len(rows) for _, rows in waves.OF_TILE)
    found = waves.read(file, [name for name, _ in named])
    for name, last in named:
        assert found[name].width == int(last or 0) + 1
    assert found["node_0.tile_1.network_out__first"].rises()


def test_tiles_that_are_quiet_are_not_simulated():
    result = run("sarc-fft", 16, 4, "dma", 2)
    cycles = result.document["nodes"][0]["statistics"]["hardware_cycles"]
    chip = result.document["simulated_ps"] / 13_333.3
    assert cycles < 4 * chip / 20


def test_a_run_goes_on_from_a_checkpoint_of_its_tiles(tmp_path):
    def locks(**how):
        return run("sarc-locks", "queue", 0, 1_500, **how)

    file = tmp_path / "state"
    with pytest.raises(NarthexError, match="interrupted"):
        locks(checkpoint=file, observer=lambda _time_ps: False)
    assert locks(checkpoint=file, resume=True).document == locks().document


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (["interfaces.sarc.locks=8"], r"interfaces\.sarc\.locks is 8; .* built with 16"),
        (["machine.processors_per_node=2"], r"processors_per_node is 2; .* built with 4"),
        (["second_level_cache.size=32KiB"], r"second_level_cache\.size is 32KiB; .* with 64KiB"),
        (["machine.nodes=2"], "it is one chip's, and nodes are 2; expected 1"),
        (["interfaces.sarc.width=16B"], r"interfaces\.sarc\.width is 16B; .* built with 8B"),
    ],
)
def test_a_machine_for_which_the_hardware_was_not_built_is_refused_with_its_key(how, told):
    with pytest.raises(NarthexError, match=told):
        run("sarc-locks", settings=how)


def test_what_tiles_of_hardware_are_not_is_refused():
    with pytest.raises(NarthexError, match=r"SARC\+Nack's full queues"):
        run("sarc-locks", interface="SARC+Nack@rtl")
    with pytest.raises(NarthexError, match="has a part in each tile: hardware of your own"):
        run("sarc-locks", interface="SARC@./mine")


def test_lines_work_as_told_and_regions_are_swapped_while_others_go_on():
    run("sarc")


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_the_hardware_refuses_ends_the_program_with_its_reason(mistake):
    with pytest.raises(NarthexError, match=REFUSED[mistake]) as ended:
        run("sarc", mistake)
    assert "sarc.c" in str(ended.value)


def test_a_load_that_is_never_answered_is_explained_with_the_ports_of_its_tile(tmp_path):
    source = tmp_path / "waits.c"
    source.write_text(WAITS)
    with pytest.raises(NarthexError) as ended:
        run(str(compiler.compile_program(source, tmp_path / "waits", interface="SARC")))
    assert ended.value.exit_code == NO_PROGRESS
    told = str(ended.value)
    assert "with 0 requests at it and 1 taken, response__valid=0" in told


def test_the_picture_of_a_store_in_waves_is_that_of_this_hardware():
    for file, drawn in documentation_pictures.hardware_waves().items():
        assert file.read_text() == drawn, "run `make pages`"
