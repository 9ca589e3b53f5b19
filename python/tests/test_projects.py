"""A folder to begin with: it runs and tests itself, and states its defaults."""

import subprocess
import sys
from pathlib import Path

import pytest

from narthex import NarthexError, projects
from narthex.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_a_new_program_runs_and_its_tests_pass(here, monkeypatch, capsys):
    assert command("new", "program", "add-up") == 0
    assert "narthex run add-up.c" in capsys.readouterr().out
    monkeypatch.chdir(here / "add-up")
    assert command("run", "add-up.c") == 0
    told = capsys.readouterr().out
    assert "add-up on CNI32Qm, 4 nodes" in told
    assert "region 'main'" in told
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout


def test_a_folders_file_states_what_the_command_line_does_not(here, capsys):
    Path("narthex.toml").write_text('machine = "isca96"\ninterface = "NI2w"\nnodes = 3\n')
    assert command("run", "hello") == 0
    assert "hello on NI2w, 3 nodes" in capsys.readouterr().out
    assert command("run", "hello", "-i", "CNI4", "-n", "2") == 0
    assert "hello on CNI4, 2 nodes" in capsys.readouterr().out


def test_a_mistake_in_a_folders_file_is_named(here, capsys):
    Path("narthex.toml").write_text("node = 3\n")
    assert command("run", "hello") == 2
    assert "did you mean 'nodes'" in capsys.readouterr().err
    Path("narthex.toml").write_text("nodes = 0\n")
    assert command("run", "hello") == 2
    assert "narthex.toml: 'nodes' must be from 1 to 4096, not 0" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Big", "../x", "there"])
def test_a_name_that_cannot_be_is_refused(here, name):
    (here / "there").mkdir()
    with pytest.raises(NarthexError, match=name):
        projects.new_program(name)


def test_a_new_interface_has_a_machine_and_tests_of_its_name(here, capsys):
    assert command("new", "interface", "Doorbell") == 0
    assert "make setup MODELS=" in capsys.readouterr().out
    folder = here / "doorbell"
    names = {"README.md", "doorbell.rs", "doorbell.toml", "narthex.toml", "test_doorbell.py"}
    assert {file.name for file in folder.iterdir()} == names
    texts = [file.read_text() for file in folder.iterdir()]
    assert not any("tarter" in text for text in texts)
    model = (folder / "doorbell.rs").read_text()
    assert 'Reading::exactly(text, "Doorbell")' in model
    assert 'section: "doorbell"' in model


MODELS = {file.stem for file in (ROOT / "interfaces" / "src" / "models").glob("*.rs")} - {"mod"}
TYPABLE = sorted(name for name in MODELS if name.isalnum())


def test_the_simulator_knows_the_files_of_its_models():
    assert projects.models() >= MODELS
    assert {"sarc", "via", "voyager"} <= set(TYPABLE)


@pytest.mark.parametrize(
    "name",
    ["ni2w", "CNI64Qm", "3x", "door-bell", "", "self", "Type", "box", "mod", *TYPABLE, "Voyager"],
)
def test_a_name_that_no_interface_can_have_is_refused(here, name):
    with pytest.raises(NarthexError, match=f"'{name}'"):
        projects.new_interface(name)
    assert list(here.iterdir()) == []
