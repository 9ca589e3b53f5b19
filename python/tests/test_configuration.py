"""Machines' and sweeps' files: schemas, differences, new files, and warnings of idle settings."""

import contextlib
import io
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from narthex import _native, validation
from narthex.cli import main
from narthex.configuration import schemas, warnings
from narthex.configuration.differences import differences, source, value
from narthex.errors import NarthexError

ROOT = Path(__file__).parents[2]
PRESETS = sorted((ROOT / "machine/src/presets").glob("*.toml"))


def examples_of(page: str) -> list[tuple[str, str]]:
    """The page's TOML with its titles."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"```toml *([^\n]*)\n(.*?)```", text, re.DOTALL)
    assert found, f"{page} has no examples any more"
    return found


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def narthex(*arguments: str, cwd: Path = Path()) -> Done:
    out, error = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
        pytest.raises(SystemExit) as ended,
    ):
        main(arguments)
    return Done(ended.value.code, out.getvalue(), error.getvalue())


@pytest.fixture(scope="module")
def machines():
    return jsonschema.Draft202012Validator(schemas.machine())


@pytest.fixture(scope="module")
def sweeps():
    return jsonschema.Draft202012Validator(schemas.sweep())


def test_both_schemas_are_schemas():
    for schema in (schemas.machine(), schemas.sweep()):
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("file", PRESETS, ids=lambda file: file.stem)
def test_every_preset_is_as_the_schema_says(machines, file):
    machines.validate(tomllib.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "text",
    [
        'base = "hpca98"',
        'base = "hpca98"\n[bus]\nclock = "125MHz"',
        '[flow_control]\nkind = "sliding-window"\nwindow = 4',
        '[flow_control]\nbuffers = "infinite"',
        "[flow_control]\n[block_buffers]\n",
        '[bus]\nclock = { value = "125MHz", assumed = "a slower one" }',
        "[interfaces.cni_iqm]\nreceive_queue_blocks = 1024",
    ],
)
def test_a_machine_that_states_its_difference_is_as_the_schema_says(machines, text):
    machines.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        '[bus]\nclok = "125MHz"',
        '[buss]\nclock = "125MHz"',
        "[bus]\nclock = 125",
        '[bus]\nclock = "125"',
        '[bus]\nclock = "125ns"',
        '[bus]\nclock = { value = "125MHz" }',
        '[bus]\nclock = { value = "125MHz", stated = "a", assumed = "b" }',
        "[bus]\narbitration_cycles = -1",
        "[machine]\nnodes = 0",
        "[machine]\nnodes = 1.5",
        "[processor]\nissue_width = 3",
        "[data_cache]\nassociativity = 17",
        "[store_buffer]\nentries = 65",
        '[store_buffer]\nuncached_stores = "sometimes"',
        '[flow_control]\nwindow = 4\nretry_delay = "80ns"',
        '[flow_control]\nkind = "sliding-windows"',
        '[interfaces.cni_iqm]\nwhen_full = "explode"',
        "base = 98",
    ],
)
def test_a_wrong_machine_is_not(machines, text):
    assert not machines.is_valid(tomllib.loads(text))


def test_editors_are_told_what_a_parameter_means_and_may_be():
    bus = schemas.machine()["properties"]["interfaces"]["properties"]["cni_iqm"]["properties"]
    assert (
        bus["receive_queue_blocks"]["description"] == "Blocks of the receive queue in main memory."
    )
    quantities = schemas.machine()["$defs"]
    assert "MHz" in quantities["Frequency"]["pattern"]
    assert "MHz" in quantities["Frequency"]["description"]


@pytest.mark.parametrize(("_title", "text"), examples_of("sweeps.md"))
def test_every_sweep_of_the_guide_is_as_the_schema_says(sweeps, _title, text):
    sweeps.validate(tomllib.loads(text))


def test_a_sweep_with_all_there_is_is_as_the_schema_says(sweeps):
    text = """
    #:schema ./sweep.schema.json
    title = "All there is"
    program = "bandwidth"
    args = "{bytes} 2000"
    nodes = 2
    threads = 1
    set = ["bus.width={width}"]
    [parameters]
    bytes = [64, 256]
    width = { values = [8, 16], unit = "B" }
    blocks = { from = 16, to = 512, step = 2, scale = "log" }
    bus.clock = ["125MHz", "250MHz"]
    [[zip]]
    seed = [1, 2]
    main_memory.access_time = { from = 100, to = 120, count = 2, unit = "ns" }
    [sample]
    points = 20
    method = "random"
    [slurm]
    jobs = 2
    cores = 4
    memory = "16GB"
    """
    sweeps.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        'porgram = "bandwidth"',
        "program = 7",
        "nodes = 0",
        "threads = 1.5",
        'set = "bus.clock=1MHz"',
        "[parameters]\nbytes = 64",
        "[parameters]\nbytes = []",
        "[parameters]\nbytes = { from = 1 }",
        '[parameters]\nbytes = { from = 1, to = 2, scale = "cubic" }',
        "[zip]\nbytes = [1]",
        "[sample]\nover = []",
        '[sample]\npoints = 3\nmethod = "grid"',
        "[slurm]\njobs = 1",
    ],
)
def test_a_wrong_sweep_is_not(sweeps, text):
    assert not sweeps.is_valid(tomllib.loads(text))


def test_a_sweeps_schema_has_meanings_and_defaults():
    properties = schemas.sweep()["properties"]
    assert properties["machine"]["default"] == "hpca98"
    assert "as `--set` takes them" in properties["set"]["description"]
    assert json.loads(narthex("sweep", "--schema").stdout) == schemas.sweep()


def test_differences_have_both_values_and_both_sources():
    (clock,) = differences("hpca98", "hpca98", other_set=["bus.clock=125MHz"])
    assert (clock["key"], value(clock["one"]), value(clock["other"])) == (
        "bus.clock", "250 MHz", "125 MHz",
    )  # fmt: skip
    assert (source(clock["one"]), source(clock["other"])) == ("stated: Table 3", "chosen")
    assert differences("hpca98", "hpca98", other_set=["data_cache.size=1024KiB"]) == []


def test_diff_prints_a_table_says_when_there_is_nothing_and_writes_json():
    shown = narthex("machine", "diff", "hpca98", "isca96")
    assert shown.returncode == 0
    assert "flow_control.window" in shown.stdout
    assert "stated: Table 3" in shown.stdout
    same = narthex("machine", "diff", "hpca98", "HPCA98")
    assert (same.returncode, same.stdout) == (0, "hpca98 and HPCA98 do not differ\n")
    arguments = ("hpca98", "hpca98", "--set", "bus.clock=1GHz", "--json", "-")
    (difference,) = json.loads(narthex("machine", "diff", *arguments).stdout)["differences"]
    assert difference["other"]["source"] == "user"
    assert narthex("machine", "diff", "hpca98", "isca69").returncode == 2


@pytest.mark.parametrize("base", ["hpca98", "isca96"])
def test_a_new_file_is_its_base_until_it_is_changed(base, tmp_path, machines):
    done = narthex("machine", "new", "mine.toml", "--from", base, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / "mine.toml"
    text = file.read_text(encoding="utf-8")
    assert text.startswith("#:schema ./machine.schema.json\n")
    machines.validate(tomllib.loads(text))
    assert [each["key"] for each in differences(base, str(file))] == ["machine.name"]
    schema = json.loads((tmp_path / "machine.schema.json").read_text(encoding="utf-8"))
    assert schema == schemas.machine()
    # Every line behind a # can be taken as it is.
    bare = "\n".join(line.removeprefix("# ") for line in text.splitlines() if _is_setting(line))
    file.write_text(bare, encoding="utf-8")
    assert [each["key"] for each in differences(base, str(file))] == ["machine.name"]
    assert "\nclock = " in bare
    assert "\nlatency = " in bare


def _is_setting(line: str) -> bool:
    return line.startswith("[") or (" = " in line.split("(")[0] and "{" not in line)


@pytest.mark.parametrize(
    "settings",
    [
        ["bus.clock=125MHz", "data_cache.snarfing=true"],
        ["flow_control.kind=sliding-window", "flow_control.window=4"],
        ['bus.clock={value="125MHz", assumed="half of it"}'],
        ["interfaces.cni_iqm.receive_queue_blocks=1024", "machine.name=other"],
        ['block_buffers={kind="none"}'],
    ],
)
def test_a_new_file_states_what_is_set(settings, tmp_path):
    file = tmp_path / "mine.toml"
    options = [word for each in settings for word in ("--set", each)]
    assert narthex("machine", "new", str(file), "--no-schema", *options).returncode == 0
    assert not (tmp_path / "machine.schema.json").exists()
    named = ["machine.name=mine", *settings]
    assert differences(str(file), "hpca98", other_set=named) == []
    told = json.loads(_native.machine_show(str(file), [], True))["sources"]
    wanted = json.loads(_native.machine_show("hpca98", named, True))["sources"]
    assert [each["source"] for each in told if each["source"] != "user"] == [
        each["source"] for each in wanted if each["source"] != "user"
    ]


def test_a_new_file_can_stand_on_another_file(tmp_path):
    (tmp_path / "machines").mkdir()
    new = ("machine", "new", "--no-schema")
    assert narthex(*new, "slow.toml", "--set", "bus.clock=1MHz", cwd=tmp_path).returncode == 0
    done = narthex(*new, "machines/slower.toml", "--from", "slow.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "machines/slower.toml").read_text(encoding="utf-8")
    assert '\nbase = "../slow.toml"\n' in text
    assert '\n# clock = "1MHz"\n' in text
    assert narthex("machine", "check", "machines/slower.toml", cwd=tmp_path).returncode == 0


def test_new_writes_over_nothing_unless_forced_and_nothing_that_is_wrong(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("mine", encoding="utf-8")
    refused = narthex("machine", "new", str(file))
    assert (refused.returncode, file.read_text(encoding="utf-8")) == (2, "mine")
    assert "--force" in refused.stderr
    assert narthex("machine", "new", str(file), "--force", "--set", "bus.clok=1").returncode == 2
    assert file.read_text(encoding="utf-8") == "mine"
    assert narthex("machine", "new", str(file), "--force").returncode == 0
    assert file.read_text(encoding="utf-8") != "mine"
    for name in ("mine", "mine.json", "absent/mine.toml"):
        assert narthex("machine", "new", str(tmp_path / name)).returncode == 2
    assert "did you mean `hpca98`?" in narthex("machine", "new", "x.toml", "--from", "hpca").stderr


WRONG = """base = "hpca98"
[bus]
clok = "125MHz"
width = "32"
[processor]
issue_width = 3
[flow_control]
window = 4
"""


def test_check_shows_every_mistake_with_its_line_underlined(tmp_path):
    (tmp_path / "wrong.toml").write_text(WRONG, encoding="utf-8")
    done = narthex("machine", "check", "wrong.toml", cwd=tmp_path)
    assert done.returncode == 2
    for part in (
        "wrong.toml:3:1: bus.clok: unknown key",
        'did you mean `clock`?\n  3 | clok = "125MHz"\n    | ^^^^\n',
        'wrong.toml:4:9: bus.width: "32" has no unit',
        "    |         ^^^^\n",
        "wrong.toml:6:15: processor.issue_width: 3 is not allowed; expected 1, 2 or 4",
        "wrong.toml:8:1: flow_control.window: unknown key (= 4)",
        '`window` belongs to kind = "go-back-n" or "pull" or "sliding-window"',
    ):
        assert part in done.stderr, done.stderr


RULE = b'base = "hpca98"\n[messages]\npacket = "100B"\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("syntax.toml", b"[bus\n", "syntax.toml:1:5: "),
        ("number.toml", b"base = 98\n", "number.toml:1:8: base: is not a text"),
        ("wrong.toml", b'base = "hpca97"\n', "did you mean `hpca98`?"),
        ("circle.toml", b'base = "./circle.toml"\n', "stands on itself"),
        ("lost.toml", b'base = "./absent.toml"\n', "lost.toml:1:8: base: cannot read"),
        ("latin.toml", b"# \xe9\n", "not UTF-8"),
        ("empty.toml", b"", "machine: is missing"),
        ("rule.toml", RULE, "rule.toml:3:10: messages.packet: 100B is not a multiple"),
    ],
)  # fmt: skip
def test_every_kind_of_mistake_names_file_line_and_remedy(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    done = narthex("machine", "check", name, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_folder_and_a_file_that_is_not_there_are_told_as_such(tmp_path):
    for name in (str(tmp_path), str(tmp_path / "absent.toml")):
        done = narthex("machine", "check", name)
        assert (done.returncode, name in done.stderr) == (2, True)
        assert "cannot read the machine's file" in done.stderr


def test_check_warns_of_what_has_no_effect_with_an_interface(tmp_path):
    file = tmp_path / "mine.toml"
    text = 'base = "hpca98"\n[interfaces.cni_iqm]\nreceive_queue_blocks = 1024\n'
    file.write_text(text, encoding="utf-8")
    idle = narthex("machine", "check", str(file), "--interface", "NI2w")
    assert idle.returncode == 0
    assert (
        "mine.toml:3:24: interfaces.cni_iqm.receive_queue_blocks: has no effect with NI2w"
        in idle.stderr
    )
    used = narthex("machine", "check", str(file), "--interface", "CNI32Qm")
    assert (used.returncode, used.stderr) == (0, "")
    assert narthex("machine", "check", str(file)).stderr == ""
    refused = narthex("machine", "check", "hpca98", "--interface", "NI2w on io-bus")
    assert (refused.returncode, "no [io_bus]" in refused.stderr) == (2, True)
    document = json.loads(
        narthex("machine", "check", str(file), "-i", "NI2w", "--json", "-").stdout
    )
    assert len(document["warnings"]) == 1


def _asked(interface: str, *settings: str) -> dict:
    return {"machine": "hpca98", "set": list(settings), "interface": interface}


def test_a_setting_that_one_of_several_runs_needs_is_no_mistake():
    queue = "interfaces.cni_iqm.receive_queue_blocks=1024"
    assert warnings.of_requests([_asked("NI2w", queue), _asked("CNI32Qm", queue)]) == []
    (told,) = warnings.of_requests([_asked("NI2w", queue), _asked("CNI512Q", queue)])
    assert "has no effect with CNI512Q" in told
    assert told.endswith("(nor with NI2w)")
    assert warnings.of_requests([_asked("NI2w", "bus.clock=1MHz"), _asked("ethernet")]) == []


def test_an_unknown_interface_is_refused_where_it_is_asked_for():
    with pytest.raises(NarthexError, match="NI2w"):
        warnings.of_machine("hpca98", [], "NI3x")


def test_no_published_experiment_sets_anything_in_vain():
    for name in validation.names():
        assert warnings.of_requests(validation.choices(validation.load(name))) == [], name
    roundtrip = validation.choices(validation.load("hpca98/roundtrip"), ["store_buffer.entries=4"])
    assert len(warnings.of_requests(roundtrip)) == 1


def test_a_run_warns_and_its_document_has_the_warning():
    idle = ("--set", "interfaces.cni_iqm.receive_queue_blocks=1024")
    run = ("run", "roundtrip", "8", "2", "--nodes", "2", "--interface", "NI2w", "--json", "-")
    done = narthex(*run, *idle)
    (warning,) = json.loads(done.stdout)["warnings"]
    assert f"narthex: warning: {warning}\n" in done.stderr
    assert json.loads(narthex(*run).stdout)["warnings"] == []


def test_a_sweep_warns_once_of_what_no_run_needs(tmp_path):
    def listed(interfaces: str) -> str:
        (tmp_path / "sweep.toml").write_text(
            'program = "roundtrip"\nargs = "8 2"\nnodes = 2\n[parameters]\n'
            f"interface = {interfaces}\ninterfaces.cni_iqm.receive_queue_blocks = [512, 1024]\n",
            encoding="utf-8",
        )
        done = narthex("sweep", "sweep.toml", "--list", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert (
        listed('["NI2w", "CNI512Q"]').count(
            "interfaces.cni_iqm.receive_queue_blocks: has no effect"
        )
        == 1
    )
    assert "has no effect" not in listed('["NI2w", "CNI32Qm"]')


@pytest.mark.parametrize(("title", "text"), examples_of("machine-files.md"))
def test_every_example_of_the_page_is_as_the_schema_says(machines, title, text, tmp_path):
    is_right = "wrong" not in title
    assert machines.is_valid(tomllib.loads(text)) == is_right
    file = tmp_path / "example.toml"
    file.write_text(text if "base = " in text else f'base = "hpca98"\n{text}', encoding="utf-8")
    assert narthex("machine", "check", str(file)).returncode == (0 if is_right else 2)


def test_check_says_how_a_machine_is_given_its_firmware(tmp_path):
    (example,) = (text for title, text in examples_of("machine-files.md") if "service" in title)
    (tmp_path / "service.toml").write_text(example, encoding="utf-8")
    done = narthex("machine", "check", "service.toml", cwd=tmp_path)
    assert done.returncode == 0
    assert "can be run, once it is given --firmware NAME=FILE" in done.stdout
