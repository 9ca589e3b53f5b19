"""Build systems of the user's own: the flags of guests, objects and archives of other compilers."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import narthex
from narthex import NarthexError, build_systems, compiler
from narthex.documentation import DOCS

SOURCE = """
#include "narthex.h"
#include "part.h"
int main(void) {
    narthex_report("part", part(), "");
    narthex_barrier();
}
"""
FILES = {
    "main.c": SOURCE,
    "part.h": "int part(void);",
    "part.c": "int part(void) { return 7; }",
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.19)
project(guest C)
add_library(part STATIC part.c)
add_executable(guest main.c)
target_link_libraries(guest part)
""",
}
RUST_TARGET = "riscv64gc-unknown-none-elf"


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def flags(form):
    return build_systems.flags_text(form)


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_format_states_the_same_words(project):
    words = json.loads(flags("json"))
    assert all(f"{name} = {shlex.join(value)}\n" in flags("make") for name, value in words.items())
    stated = call("sh", "-c", flags("sh") + 'printf %s "$NARTHEX_LIBS"')
    assert shlex.split(stated) == words["NARTHEX_LIBS"]
    assert f"Cflags: {shlex.join(words['NARTHEX_CFLAGS'])}\n" in flags("pkg-config")
    with pytest.raises(NarthexError, match="did you mean 'cmake'"):
        flags("cmak")


def test_a_makefile_builds_a_guest(project):
    makefile = flags("make") + (
        "guest: main.c part.c\n"
        "\t$(NARTHEX_CC) $(NARTHEX_CFLAGS) $(NARTHEX_LDFLAGS) $^ $(NARTHEX_LIBS) -o $@\n"
    )
    Path("Makefile").write_text(makefile)
    call("make", "guest")
    assert narthex.run("./guest", nodes=2).value("part") == 7


@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
def test_cmake_builds_a_guest_with_a_library_of_its_own(project):
    Path("narthex.cmake").write_text(flags("cmake"))
    call("cmake", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=narthex.cmake")
    call("cmake", "--build", "build")
    assert narthex.run("build/guest", nodes=2).value("part") == 7


def test_objects_are_linked_in_and_other_files_are_not(project):
    words = json.loads(flags("json"))
    call(*words["NARTHEX_CC"], *words["NARTHEX_CFLAGS"], "-c", "part.c", "-o", "part.o")
    compiler.compile_program(["main.c", "part.o"], "guest")
    assert narthex.run("./guest", nodes=2).value("part") == 7
    with pytest.raises(NarthexError, match=r"'part\.h' is not a C or C\+\+ source, object"):
        compiler.compile_program(["main.c", "part.h"], "guest")


def has_rust_target():
    if not shutil.which("rustc"):
        return False
    asked = ["rustc", "--print", "target-libdir", "--target", RUST_TARGET]
    found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return bool(found) and Path(found).is_dir()


@pytest.mark.skipif(not has_rust_target(), reason=f"Rust has no target {RUST_TARGET} here")
def test_the_guides_rust_guest_runs_and_a_panic_names_its_line(tmp_path, monkeypatch):
    page = (DOCS / "rust.md").read_text(encoding="utf-8")
    blocks = re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', page, re.DOTALL)
    assert {name for name, _ in blocks} == {"Cargo.toml", "src/lib.rs"}
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    archive = Path("target") / RUST_TARGET / "release" / "libring.a"

    def build():
        call("cargo", "build", "--release", "--offline", "--target", RUST_TARGET)
        return compiler.compile_program([archive], "ring")

    assert narthex.run(build(), nodes=4).value("nodes visited") == 4
    source = Path("src/lib.rs")
    source.write_text(
        source.read_text().replace("let visited =", "assert!(node > 8); let visited =")
    )
    with pytest.raises(NarthexError, match="panic in line"):
        narthex.run(build(), nodes=4)
