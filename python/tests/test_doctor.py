"""`narthex doctor` finds each fault, and says what to do."""

import errno
import importlib.metadata
import json
import sys
from collections import namedtuple
from email.message import Message

import pytest

from narthex import compiler, guest_library, health
from narthex.cli import main
from narthex.health import State


def test_nothing_is_wrong_here(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--json", "-"])
    document = json.loads(capsys.readouterr().out)
    assert [each for each in document["findings"] if each["state"] == "problem"] == []
    assert ended.value.code == 0
    assert [each["subject"] for each in document["findings"]] == list(health.CHECKS)


def test_a_problem_is_a_row_with_its_remedy_and_exit_code_1(monkeypatch, capsys):
    def broken():
        return State.PROBLEM, "2 left feet", "buy other shoes"

    def raising():
        raise RuntimeError("the sky fell")

    monkeypatch.setattr(health, "CHECKS", {"shoes": broken, "sky": raising})
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    assert ended.value.code == 1
    printed = capsys.readouterr().out
    assert "problem   2 left feet" in printed
    assert "buy other shoes" in printed
    assert "RuntimeError: the sky fell" in printed


def test_a_warning_is_no_failure(monkeypatch):
    monkeypatch.setattr(health, "CHECKS", {"memory": lambda: (State.WARNING, "little", "more")})
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    assert ended.value.code == 0


def test_a_compiler_that_is_not_there(monkeypatch):
    monkeypatch.setenv("NARTHEX_CC", "no-such-riscv-gcc")
    state, found, remedy = health.check_compiler()
    assert state is State.PROBLEM
    assert "no-such-riscv-gcc" in found
    assert "pip install 'narthex[compiler]'" in remedy


def test_a_compiler_for_another_processor(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "compile_bare", lambda *_: sys.executable)
    state, found, _ = health.check_compiler()
    assert state is State.PROBLEM
    assert "RISC-V" in found


def test_a_compiler_that_was_never_used_is_said_to_be_slow_once(monkeypatch):
    monkeypatch.setattr(guest_library, "library_is_compiled", lambda _: False)
    state, found, _ = health.check_compiler()
    assert state is State.OK
    assert "about a minute" in found


def test_a_library_that_is_missing_or_too_old(monkeypatch):
    versions = {
        each: importlib.metadata.version(each) for each in ("msgspec", "packaging", "typer")
    }
    monkeypatch.setattr(health, "_version", lambda name: (versions | {"rich": "1.0"}).get(name))
    state, found, remedy = health.check_libraries()
    assert state is State.PROBLEM
    assert "tomli-w is missing (wanted: <2,>=1.2)" in found
    assert "rich is 1.0" in found
    assert "'tomli-w<2,>=1.2'" in remedy
    assert "msgspec" not in remedy


def test_a_python_that_is_too_old(monkeypatch):
    metadata = Message()
    metadata["Requires-Python"] = ">=4.2"
    monkeypatch.setattr(health, "_metadata", lambda: metadata)
    state, found, remedy = health.check_python()
    assert state is State.PROBLEM
    assert ">=4.2" in found
    assert "PYTHON=" in remedy


def test_a_native_module_of_another_version(monkeypatch):
    metadata = Message()
    metadata["Version"] = "99.0"
    monkeypatch.setattr(health, "_metadata", lambda: metadata)
    state, found, remedy = health.check_simulator()
    assert state is State.PROBLEM
    assert "99.0" in found
    assert "make setup" in remedy


def test_a_native_module_that_does_not_load(monkeypatch):
    import narthex

    monkeypatch.delattr(narthex, "_native", raising=False)
    monkeypatch.setitem(sys.modules, "narthex._native", None)
    state, _, remedy = health.check_simulator()
    assert state is State.PROBLEM
    assert "make setup" in remedy


def test_a_cache_that_is_a_file(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NARTHEX_CACHE", str(tmp_path / "file"))
    state, found, remedy = health.check_cache()
    assert state is State.PROBLEM
    assert str(tmp_path) in found
    assert "NARTHEX_CACHE" in remedy


def test_a_cache_that_is_read_only(monkeypatch, tmp_path):
    def refuse(dir):  # noqa: A002 - as tempfile's; root's tests may write everywhere
        raise PermissionError(errno.EACCES, "Permission denied", dir)

    monkeypatch.setenv("NARTHEX_CACHE", str(tmp_path))
    monkeypatch.setattr(health.tempfile, "TemporaryFile", refuse)
    assert health.check_cache()[:2] == (State.PROBLEM, f"{tmp_path}: Permission denied")


def test_the_caches_size_is_that_of_its_files(monkeypatch, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_bytes(bytes(3 << 20))
    monkeypatch.setenv("NARTHEX_CACHE", str(tmp_path))
    state, found, _ = health.check_cache()
    assert state is State.OK
    assert ": 3 MiB " in found


@pytest.mark.parametrize(
    ("free_mib", "state"), [(100, State.PROBLEM), (500, State.WARNING), (2000, State.OK)]
)
def test_little_disk_space(monkeypatch, tmp_path, free_mib, state):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setenv("NARTHEX_CACHE", str(tmp_path / "not" / "there" / "yet"))
    monkeypatch.setattr(health.shutil, "disk_usage", lambda _: usage(0, 0, free_mib << 20))
    found, text, remedy = health.check_space()
    assert found is state
    assert f"free at {tmp_path}" in text
    assert bool(remedy) == (state is not State.OK)


def test_little_memory(monkeypatch):
    monkeypatch.setattr(health, "_free_memory_bytes", lambda: 500 << 20)
    assert health.check_memory()[:2] == (
        State.WARNING,
        "500 MiB available; 1.0 GiB are wanted",
    )


def test_memory_is_what_the_control_group_leaves(monkeypatch):
    files = {
        "/proc/meminfo": ["MemTotal: 9 kB", "MemAvailable:  4096 kB"],
        "/sys/fs/cgroup/memory.max": ["3000"],
        "/sys/fs/cgroup/memory.current": ["1000"],
    }
    monkeypatch.setattr(health, "_lines", lambda file: files[file])
    assert health._free_memory_bytes() == 2000
    files["/sys/fs/cgroup/memory.max"] = ["max"]
    assert health._free_memory_bytes() == 4096 << 10


def test_a_single_processor(monkeypatch):
    monkeypatch.setattr(health.os, "sched_getaffinity", lambda _: {0})
    assert health.check_processors()[0] is State.WARNING


class Terminal:
    def __init__(self, encoding):
        self.encoding = encoding

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("encoding", "columns", "state"),
    [("utf-8", 100, State.OK), ("utf-8", 40, State.WARNING), ("ascii", 100, State.PROBLEM)],
)
def test_a_terminal_that_shows_no_tables(monkeypatch, encoding, columns, state):
    monkeypatch.setattr(health.sys, "stdout", Terminal(encoding))
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "24")
    found, _, remedy = health.check_terminal()
    monkeypatch.undo()
    assert found is state
    assert bool(remedy) == (state is not State.OK)
