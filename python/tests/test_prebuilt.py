"""Programs that a wheel brings compiled, and packages that are not installed."""

import importlib.util
import shutil
import zipfile

import pytest

from narthex import NarthexError, compiler, drivers, extras, health, prebuilt, toolchain

NO_COMPILER = "there is no compiler"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An archive of one program and one driver apart, and the program as it is compiled."""
    archive = tmp_path_factory.mktemp("wheel") / "prebuilt.zip"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "program_names", lambda: ["hello"])
        patch.setattr(compiler, "firmware_names", list)
        patch.setattr(drivers, "DRIVERS_APART", {"SARC": drivers.DRIVERS_APART["SARC"]})
        patch.delenv("CC", raising=False)
        patch.delenv("NARTHEX_CC", raising=False)
        prebuilt.make(archive)
        return archive, compiler.program_path("hello").read_bytes()


@pytest.fixture
def a_wheel(made, tmp_path, monkeypatch):
    """The archive on a machine without a compiler and with an empty cache."""
    archive = tmp_path / "prebuilt.zip"
    shutil.copyfile(made[0], archive)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("NARTHEX_CC", raising=False)
    monkeypatch.setattr(prebuilt, "ARCHIVE", archive)
    monkeypatch.setenv("NARTHEX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "_zig", without_compiler)
    return archive, made[1]


def without_compiler(_notice=""):
    raise NarthexError(NO_COMPILER)


def test_a_wheels_program_runs_without_a_compiler(a_wheel):
    _, expected = a_wheel
    path = compiler.program_path("hello")
    assert path.read_bytes() == expected
    assert path.stat().st_mode & 0o100
    assert compiler.program_path("hello", interface="SARC").read_bytes() != expected


def test_another_compiler_or_other_sources_are_not_passed_over(a_wheel, monkeypatch):
    archive, _ = a_wheel
    with pytest.raises(NarthexError, match="no-such-gcc"):
        compiler.program_path("hello", compiler="no-such-gcc")
    with zipfile.ZipFile(archive, "a") as changed:
        changed.comment = b"other sources"
    with pytest.raises(NarthexError, match=NO_COMPILER):
        compiler.program_path("hello")


def test_a_program_that_the_wheel_does_not_have_needs_the_compiler(a_wheel):
    with pytest.raises(NarthexError, match=NO_COMPILER):
        compiler.program_path("roundtrip")


def test_without_a_compiler_the_doctor_warns_if_the_programs_are_there(a_wheel):
    state, found, _ = health.check_compiler()
    assert (state, found) == (
        health.State.WARNING,
        f"{NO_COMPILER}; programs that come with Narthex run",
    )


@pytest.fixture
def without_polars(monkeypatch):
    real_import, real_find = importlib.import_module, importlib.util.find_spec

    def import_module(name, *rest):
        if name == "polars":
            raise ModuleNotFoundError(name="polars")
        return real_import(name, *rest)

    monkeypatch.setattr(importlib, "import_module", import_module)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "polars" else real_find(name)
    )


def test_a_package_that_is_missing_is_named_with_what_installs_it(without_polars):
    message = r"'polars', which is not installed: python -m pip install 'narthex\[report\]'"
    with pytest.raises(NarthexError, match=message):
        extras.polars  # noqa: B018 - it is imported where it is named
    with pytest.raises(NarthexError, match=message):
        extras.require("report")
    state, told, remedy = health.check_extras()
    assert (state, remedy) == (health.State.WARNING, "python -m pip install 'narthex[report]'")
    assert told.startswith("compiler")
    assert told.endswith("; report lacks polars")
