"""pcie-bench's card: what it measures of host-snb, what is refused, what its fit is worth."""

import json
from functools import partial

import pytest

import narthex
from narthex import assets
from narthex.calibration import statement
from narthex.cli import main
from narthex.errors import NarthexError


def measure(*args, **where):
    where = {"machine": "host-snb", "interface": "PcieBench", **where}
    return narthex.run("pcie-bench", *args, **where)


def test_a_latency_is_a_whole_number_of_the_cards_steps_and_a_write_before_a_read_adds_to_it():
    read = measure("LAT_CMD_RD", 8, 4096, "HWarm", "Seq", 50)
    both = measure("LAT_CMD_WRRD", 8, 4096, "HWarm", "Seq", 50)
    steps = read.value("latency") / 13.333
    assert steps == pytest.approx(round(steps))
    assert 80 < both.value("latency") - read.value("latency") < 160


def test_what_the_card_has_written_is_in_ddios_ways_and_what_nobody_touched_in_memory():
    latency = {
        cache: measure("LAT_CMD_RD", 8, 65536, cache, "Rand", 100).value("latency, mean")
        for cache in ("HWarm", "DWarm", "Cold")
    }
    assert abs(latency["HWarm"] - latency["DWarm"]) < 15
    assert 55 < latency["Cold"] - latency["DWarm"] < 85


def test_large_reads_fill_the_link_and_bytes_of_any_number_cross_it():
    assert measure("BW_DMA_RD", 2048, 8192).value("bandwidth") == pytest.approx(55.6, rel=0.03)
    cold = measure("BW_DMA_RD", 64, 1 << 20, "Cold").value("bandwidth")
    assert 25 < cold < 33, "four channels"
    odd = measure("BW_DMA_RW", 65, 8192, "HWarm", "Rand", 200, 3)
    assert odd.value("rate") > 10
    links = odd.document["nodes"][0]["statistics"]
    answers = 8 * links["pcie_packets"]["completion_up"]
    assert links["pcie_payload"]["up"] == 200 * 65 + answers


@pytest.mark.parametrize(
    ("where", "args", "says"),
    [
        ({}, ("LAT_CMD_RD", 65), "BENCH_SIZE is 65; expected 1 to 64 bytes"),
        ({}, ("LAT_CMD", 8), "allowed are LAT_DMA_RD, LAT_DMA_WRRD"),
        ({}, ("BW_DMA_RD", 2048, 1024), "a window of 1024 bytes holds no access of 2048"),
        (
            {"set": ["interfaces.pcie_bench.operations=300"]},
            (),
            "expected a whole number from 1 to 256",
        ),
        ({"set": ['node.interface.on=["directory"]']}, (), "a PCIe link alone carries"),
        ({"machine": "hpca98", "interface": "NI2w"}, (), "run it with --interface PcieBench"),
        (
            {"set": ["third_level_cache.ddio.ways=21"]},
            (),
            "21 is more than the cache's associativity",
        ),
    ],
)
def test_what_cannot_be_is_refused(where, args, says):
    with pytest.raises(NarthexError, match=says):
        measure(*args, **where)


def test_a_program_that_sends_messages_is_told_that_the_card_carries_none():
    with pytest.raises(NarthexError, match="carries no messages"):
        narthex.run("hello", machine="host-snb", interface="PcieBench")


def test_a_stated_fit_is_printed_with_its_rows_and_the_predicted_ones(
    tmp_path, monkeypatch, capsys
):
    rows = ["LAT_CMD_RD, 8 bytes", "LAT_CMD_RD, 16 bytes"]
    text = (assets.FITS / "host-snb.toml").read_text()
    head, *fits = text.split("[[fit]]")
    (tmp_path / "host-snb.toml").write_text(
        head.replace('["modern/pcie-latency", "modern/pcie-bandwidth", "modern/pcie-window"]',
                     '["modern/pcie-latency"]') + "[[fit]]" + fits[0]
    )  # fmt: skip
    monkeypatch.setattr(assets, "FITS", tmp_path)
    monkeypatch.setattr(statement, "experiment", partial(narthex.experiment, workloads=rows))
    file = tmp_path / "fit.json"
    with pytest.raises(SystemExit) as ended:
        main(["calibrate", "Host-SNB", "--json", str(file)])
    assert ended.value.code == 0
    printed = capsys.readouterr()
    assert "endpoint_latency" in printed.out + printed.err
    document = json.loads(file.read_text())
    kinds = {row["workload"]: row["parameter"] for row in document["rows"]}
    assert kinds == {rows[0]: "node.interconnects.pcie.endpoint_latency", rows[1]: None}

    stated = tmp_path / "host-snb.toml"
    stated.write_text(stated.read_text().replace("mean_percent = 10", "mean_percent = 0"))
    with pytest.raises(SystemExit) as ended:
        main(["calibrate", "host-snb"])
    assert ended.value.code == 4
    assert "in the mean, further than 0 %" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ('"LAT_CMD_RD, 8 bytes"', '"LAT_CMD_RD, 9 bytes"', "did you mean"),
        ("pcie.endpoint_latency", "pcie.endpoint_latencies", "has no parameter"),
        ('experiment = "modern/pcie-latency"', 'experiment = "modern/pcie"', "did you mean"),
    ],
)
def test_a_statement_of_what_is_not_there_is_refused(tmp_path, monkeypatch, was, becomes, says):
    text = (assets.FITS / "host-snb.toml").read_text()
    assert was in text
    (tmp_path / "host-snb.toml").write_text(text.replace(was, becomes, 1))
    monkeypatch.setattr(assets, "FITS", tmp_path)
    with pytest.raises(NarthexError, match=says):
        statement.load("host-snb")


def test_an_iommu_adds_a_page_walk_where_the_window_has_more_pages_than_the_iotlb():
    means = {}
    for window in (65536, 4 << 20):
        args = ("LAT_CMD_RD", 8, window, "DWarm", "Rand", 100)
        walked, plain = (measure(*args, machine=name) for name in ("host-hsw-iommu", "host-hsw"))
        means[window] = walked.value("latency, mean") - plain.value("latency, mean")
        counts = walked.document["nodes"][0]["statistics"]
        assert counts["pcie_iotlb_misses"] + counts["pcie_iotlb_hits"] > 100
    assert means[65536] < 45
    assert 205 < means[4 << 20] < 245
    entries = ["node.interconnects.pcie.iommu.entries=96"]
    with pytest.raises(NarthexError, match="64 ways times a power of two of sets"):
        measure(machine="host-hsw-iommu", set=entries)


def test_a_wrong_name_is_told_calibrations_and_stated_fits(capsys):
    with pytest.raises(SystemExit) as exit_code:
        main(["calibrate", "host-snbb"])
    assert exit_code.value.code == 2
    told = capsys.readouterr().err
    assert (
        "did you mean 'host-snb'? (there are: host-hsw-iommu, host-snb, hpca98-calibrated)"
        in " ".join(told.split())
    )
