"""What users write, as a type checker sees it: `mypy` reads this file; it is never run."""

from pathlib import Path

import altair
import polars

import narthex


def runs() -> None:
    result: narthex.Result = narthex.run(
        "roundtrip",
        64,
        1000,
        machine=Path("mine.toml"),
        interface="NI2w on io-bus",
        nodes=2,
        set={"bus.clock": "125MHz", "flow_control.buffers": 8},
        observer=lambda time_ps: time_ps < 10**9,
    )
    frames: list[polars.DataFrame] = [
        result.reports,
        result.ledger,
        result.jobs,
        result.links,
        result.queues,
        result.statistics,
        result.measurements,
        result.output,
    ]
    latency_ns: float = result.value("round-trip latency")
    picture: altair.TopLevelMixin = result.plot_ledger(by="occupation", region=result.regions[0])
    file: Path = result.save("result.json")
    again: narthex.Result = narthex.load(file)
    print(frames, latency_ns, picture, again.simulated_us)


def others() -> None:
    ranking: narthex.Comparison = narthex.compare("roundtrip", 64, interfaces=["NI2w"])
    ranking = narthex.load(ranking.save("ranking.json"), narthex.Comparison)
    life: narthex.Explanation = narthex.explain("NI2w", 8, set=["bus.clock=125MHz"])
    outcome: narthex.Outcome = narthex.experiment("hpca98/roundtrip", interfaces="NI2w")
    table: polars.DataFrame = narthex.sweep({"program": "roundtrip"}, jobs=2)
    pictures: list[altair.TopLevelMixin] = [
        ranking.plot(),
        ranking.plot_ledger(),
        life.plot(),
        outcome.plot(),
        outcome.plot_ledger(),
        narthex.plot_sweep(table, x="bytes", y=["bandwidth_MB_per_s"]),
    ]
    found: list[polars.DataFrame] = [
        ranking.frame,
        life.transactions,
        life.breakdown,
        outcome.frame,
        outcome.verdicts,
        narthex.catalogue("interfaces"),
        narthex.parameters("isca96"),
    ]
    program: Path = narthex.compile(["ring.c"], "ring")
    print(pictures, found, program, narthex.__version__)


def mistakes() -> None:
    narthex.run("roundtrip", nodes="two")  # type: ignore[arg-type]
    narthex.run("roundtrip", threats=2)  # type: ignore[call-arg]
    narthex.catalogue("interface")  # type: ignore[arg-type]
    narthex.run("roundtrip").plot_ledger("activities")  # type: ignore[arg-type]
    narthex.load("result.json", narthex.Result).latency_ps  # type: ignore[attr-defined] # noqa: B018
    narthex.runn("roundtrip")  # type: ignore[attr-defined]
