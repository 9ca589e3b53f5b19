"""`narthex mpicc`: a compiler wrapper that stands where builds expect one."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest

import narthex

OWN = [sys.executable, "-m", "narthex"]
MPICC = shlex.join([*OWN, "mpicc"])

FILES = {
    "main.c": """
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include "part.h"
int main(int count, char **values) {
    int rank, sum;
    MPI_Init(&count, &values);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rank = part(rank);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d, root %g\\n", sum, sqrt(sum - 2));
    MPI_Finalize();
}
""",
    "include/part.h": "int part(int);",
    "part.c": '#include "part.h"\nint part(int number) { return SCALE * number; }\n',
    "Makefile": """
CFLAGS = -O2 -Wall -Iinclude -DSCALE=3
program: main.o libpart.a
\t$(CC) $(CFLAGS) -o $@ main.o -L. -lpart -lm
libpart.a: part.o
\tar rcs $@ $^
%.o: %.c
\t$(CC) $(CFLAGS) -c $< -o $@
""",
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(MPI REQUIRED)
add_library(part STATIC part.c)
target_compile_definitions(part PRIVATE SCALE=3)
target_include_directories(part PUBLIC include)
add_executable(program main.c)
target_link_libraries(program part MPI::MPI_C m)
""",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*command, **environment):
    words = [str(word) for word in command]
    return subprocess.run(
        words, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def printed(program, nodes=4):
    pieces = []
    narthex.run(program, nodes=nodes, output=lambda *piece: pieces.append(piece[-1]))
    return b"".join(pieces).decode()


def test_a_makefile_takes_it_as_its_compiler(project):
    done = call("make", f"CC={MPICC}")
    assert done.returncode == 0, done.stderr
    assert printed("./program") == "sum 18, root 4\n"


@pytest.mark.skipif(not shutil.which("cmake"), reason="there is no cmake")
def test_cmake_finds_mpi_in_it(project):
    arguments = ("-S", ".", "-B", "build", "-DCMAKE_SYSTEM_NAME=Linux")
    done = call("cmake", *arguments, CC=MPICC)
    assert done.returncode == 0, done.stdout + done.stderr
    done = call("cmake", "--build", "build")
    assert done.returncode == 0, done.stdout + done.stderr
    assert printed("build/program") == "sum 18, root 4\n"


def test_one_command_compiles_and_links_in_the_order_of_its_words(project):
    done = call(*OWN, "mpicc", "main.c", "part.c", "-Iinclude", "-D", "SCALE=3", "-o", "program")
    assert done.returncode == 0, done.stderr
    assert printed("./program") == "sum 18, root 4\n"


def test_a_cpp_program_is_linked_with_its_library(tmp_path):
    source = tmp_path / "main.cpp"
    source.write_text("""
#include <mpi.h>
#include <iostream>
int main(int count, char **values) {
    MPI_Init(&count, &values);
    std::cout << "began" << std::endl;
    MPI_Finalize();
}
""")
    done = call(*OWN, "mpicxx", source, f"-o{tmp_path / 'main'}")
    assert done.returncode == 0, done.stderr
    assert printed(tmp_path / "main", nodes=1) == "began\n"


def test_a_tool_puts_a_function_of_its_own_in_the_place_of_another(tmp_path):
    source = tmp_path / "tool.c"
    source.write_text("""
#include <mpi.h>
#include <stdio.h>
static int sent;
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    sent += count;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}
int main(int count, char **values) {
    int numbers[3] = {1, 2, 3};
    MPI_Init(&count, &values);
    MPI_Send(numbers, 3, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Recv(numbers, 3, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("sent %d\\n", sent);
    MPI_Finalize();
}
""")
    program = narthex.compile(source, tmp_path / "tool")
    assert printed(program, nodes=1) == "sent 3\n"


def test_it_shows_its_command_and_answers_for_the_compiler():
    shown = shlex.split(call(*OWN, "mpicc", "-show").stdout)
    assert "-static" in shown
    assert any(word.endswith("libnarthex.a") for word in shown)
    shown = shlex.split(call(*OWN, "mpicc", "-show", "-c", "main.c").stdout)
    assert shown[-2:] == ["-c", "main.c"]
    assert "-static" not in shown
    assert "riscv64" in call(*OWN, "mpicc", "-dumpmachine").stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "#include <mpi.h>\nint main(void) { return MPI_Alltoallw_init(0); }",
            "MPI_Alltoallw_init is not in Narthex's MPI; "
            "the nearest that is there is MPI_Alltoallw",
        ),
        (
            "int MPI_Waital(void);\nint main(void) { return MPI_Waital(); }",
            "MPI_Waital is not in Narthex's MPI; the nearest that is there is MPI_Waitall",
        ),
        (
            "extern int ompi_mpi_comm_world;\nint main(void) { return ompi_mpi_comm_world; }",
            "'ompi_mpi_comm_world' is of Open MPI's own mpi.h",
        ),
    ],
)
def test_what_is_not_there_is_an_error_that_names_the_nearest(tmp_path, text, told):
    source = tmp_path / "main.c"
    source.write_text(text)
    done = call(*OWN, "mpicc", source, "-o", tmp_path / "main")
    assert done.returncode == 1
    assert told in done.stderr
    with pytest.raises(narthex.NarthexError) as caught:
        narthex.compile(source, tmp_path / "main")
    assert told in str(caught.value)
