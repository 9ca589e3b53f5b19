"""Warm checkpoints: programs that go on over another interface."""

import json

import pytest

import narthex
from narthex.errors import GUEST_FAILED, USAGE

EM3D = ("em3d", 160, 3, 20)
REGION = "region:main"

MPI = """
#include <mpi.h>
#include "narthex.h"

int main(int count, char **values) {
    static long out[5000], in[5000];
    long rank_and_one, sum, all;
    int rank, size;
    MPI_Init(&count, &values);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_and_one = rank + 1;
    MPI_Allreduce(&rank_and_one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    narthex_checkpoint();
    for (int i = 0; i < 5000; i++)
        out[i] = sum * rank + i;
    MPI_Sendrecv(out, 5000, MPI_LONG, (rank + 1) % size, 3, in, 5000, MPI_LONG,
                 (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&in[4999], &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        narthex_report("sum", (double)all, "");
    MPI_Finalize();
}
"""

SHMEM = """
#include <shmem.h>
#include "narthex.h"

int main(void) {
    static long from[800];
    shmem_init();
    int me = shmem_my_pe(), all = shmem_n_pes();
    long *to = shmem_malloc(sizeof from), *sum = shmem_malloc(sizeof *sum);
    *sum = 0;
    for (int i = 0; i < 800; i++)
        from[i] = me * 1000 + i;
    shmem_barrier_all();
    narthex_checkpoint();
    shmem_long_put(to, from, 800, (me + 1) % all);
    shmem_barrier_all();
    shmem_long_atomic_add(sum, to[799], 0);
    shmem_barrier_all();
    if (me == 0)
        narthex_report("sum", (double)*sum, "");
    shmem_finalize();
}
"""


def run(**options):
    return narthex.run(*EM3D, **{"nodes": 4, "interface": "NI2w"} | options)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    place = tmp_path_factory.mktemp("warm") / "em3d.warm"
    result = run(checkpoint=place, checkpoint_at=REGION)
    assert result.document["ending"] == "checkpoint"
    at = json.loads(place.read_bytes().split(b"\n")[1])["at"]
    assert result.document["simulated_ps"] == at, "the run ends where its programs meet"
    return place


def main_of(result):
    regions = [each for each in result.document["regions"] if each["name"] == "main"]
    return [(each["begin_ps"], each["end_ps"]) for each in regions]


@pytest.mark.parametrize(
    "interface", ["NI2w", "CNI4", "CNI512Q", "CNI0Qm", "NI64w+Udma", "NI16w+Blkbuf"]
)
def test_a_program_goes_on_over_another_interface(warm, interface):
    result = run(interface=interface, start_from=warm)
    assert result.document["ending"] == "finished"
    at = json.loads(warm.read_bytes().split(b"\n")[1])["at"]
    begins, ends = zip(*main_of(result), strict=True)
    assert len(begins) == 4
    assert all(at < begin < at + 100_000_000 for begin in begins), "it opens the interface first"
    assert all(begin < end for begin, end in zip(begins, ends, strict=True))


def test_the_region_takes_as_long_as_in_the_whole_run_or_longer_by_its_cold_misses(warm):
    whole, filled, cold = run(), run(start_from=warm), run(start_from=warm, caches="cold")
    times = [result.value("execution time") for result in (whole, filled, cold)]
    assert times[1] == pytest.approx(times[0], rel=0.01)
    assert 1.2 * times[0] < times[2] < 1.4 * times[0]
    assert [result.document["started_from"]["caches"] for result in (filled, cold)] == [
        "filled",
        "cold",
    ]
    misses = [sum(node["statistics"]["load_misses"] for node in result.document["nodes"])
              for result in (filled, cold)]  # fmt: skip
    assert misses[0] < misses[1] / 2, "fills are not counted"


@pytest.mark.parametrize(
    "settings",
    [
        ["machine.processors_per_node=2", "data_cache.protocol=MESI"],
        ["data_cache.size=8KiB", "data_cache.associativity=4", "data_cache.block=128B"],
    ],
    ids=["two processes on a bus", "smaller caches of larger blocks"],
)
def test_caches_of_any_shape_are_filled(tmp_path, settings):
    per_node = [each for each in settings if each.startswith("machine.")]
    nodes = 4 // (1 + len(per_node))
    run(checkpoint=tmp_path / "warm", checkpoint_at=REGION, nodes=nodes, set=per_node)
    options = {"nodes": nodes, "set": settings, "start_from": tmp_path / "warm"}
    one = run(**options)
    two = run(**options, threads=2, execute_wait_loops=True)
    assert one.document["nodes"] == two.document["nodes"]
    energy = run(nodes=nodes, set=settings).value("electric energy")
    assert one.value("electric energy") == energy


def test_threads_change_neither_the_checkpoint_nor_what_comes_of_it(warm, tmp_path):
    run(checkpoint=tmp_path / "two", checkpoint_at=REGION, threads=2)
    assert (tmp_path / "two").read_bytes() == warm.read_bytes()
    one, two = (run(start_from=warm, interface="CNI32Qm", threads=threads) for threads in (1, 2))
    assert one.document == two.document


def test_a_comparison_starts_from_the_checkpoint(warm):
    found = narthex.compare(
        *EM3D, nodes=4, interfaces=["NI2w", "CNI32Qm"], start_from=warm, by="execution time"
    )
    assert [result.interface for result in found.results] == ["CNI32Qm", "NI2w"]
    assert "started_from" in found.results[0].document


@pytest.mark.parametrize(("source", "sum_"), [(MPI, 20056), (SHMEM, 9196)], ids=["mpi", "shmem"])
def test_programs_of_mpi_and_shmem_go_on(tmp_path, source, sum_):
    program, place = tmp_path / "program.c", tmp_path / "warm"
    program.write_text(source)
    options = {"nodes": 4, "interface": "CNI32Qm"}
    narthex.run(program, checkpoint=place, checkpoint_at="call", **options)
    for interface in ("NI2w", "NI64w+Udma"):
        later = narthex.run(program, nodes=4, interface=interface, start_from=place)
        assert later.value("sum") == sum_
    assert narthex.run(program, **options).value("sum") == sum_


def test_an_instant_means_the_next_point_that_no_process_has_come_to(tmp_path):
    result = run(checkpoint=tmp_path / "kept", checkpoint_at="100us")
    assert result.document["ending"] == "checkpoint"
    at = json.loads((tmp_path / "kept").read_bytes().split(b"\n")[1])["at"]
    assert at > 100_000_000
    assert not main_of(result), "its begin is the point"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"checkpoint_at": "region:mian"}, GUEST_FAILED, "did you mean `main`"),
        ({"checkpoint_at": "1s"}, GUEST_FAILED, "ended before its programs came"),
        ({"checkpoint_at": "main"}, USAGE, "none of region:NAME, call and a simulated time"),
        ({"checkpoint_at": REGION, "resume": True}, USAGE, "cannot have --checkpoint-every"),
    ],
)
def test_a_checkpoint_that_cannot_be_made_is_refused(tmp_path, options, code, words):
    with pytest.raises(narthex.NarthexError, match=words) as error:
        run(checkpoint=tmp_path / "kept", **options)
    assert error.value.exit_code == code
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nodes": 5}, "it has 4 nodes, and the run 5"),
        ({"machine": "isca96"}, "it has 8 bytes a header, and the run 12"),
        ({"machine": "smp"}, "another number of processors"),
        ({"checkpoint_at": "call"}, "cannot end with another"),
        ({"profile": True}, "leave out --profile"),
        ({"traffic": True}, "leave out --traffic"),
        ({"caches": "coald"}, "did you mean 'cold'"),
        ({"caches": "cold", "start_from": None}, "name one .--from., or leave out --caches"),
    ],
)
def test_a_run_that_cannot_start_from_it_is_refused(warm, options, words):
    with pytest.raises(narthex.NarthexError, match=words) as error:
        run(**{"start_from": warm} | options)
    assert error.value.exit_code == USAGE


def test_a_file_of_another_kind_or_a_damaged_one_is_refused(warm, tmp_path):
    with pytest.raises(narthex.NarthexError, match="runs start with --from"):
        run(checkpoint=warm, resume=True)
    damaged = bytearray(warm.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    with pytest.raises(narthex.NarthexError, match=r"No such file.*did you mean '.*damaged'"):
        run(start_from=tmp_path / "damagd")
    (tmp_path / "exact").write_bytes(b"narthex checkpoint 20\n{}\n")
    for name, words in [
        ("damaged", "cut short or damaged"),
        ("exact", "goes on with --resume"),
        ("missing", "cannot be read"),
    ]:
        with pytest.raises(narthex.NarthexError, match=words):
            run(start_from=tmp_path / name)


def test_the_runs_of_a_sweep_start_from_it(warm, tmp_path):
    text = f"""
        program = "em3d"
        args = "160 3 20"
        nodes = 4
        start_from = "{warm}"
        caches = "cold"
        [parameters]
        interface = ["NI2w"]
    """
    (tmp_path / "warm.toml").write_text(text)
    found = narthex.sweep(tmp_path / "warm.toml", output=tmp_path / "results")
    assert found["status"].to_list() == ["finished"]
    cold = run(start_from=warm, caches="cold")
    assert found["execution_time_ns"][0] == cold.value("execution time")
