"""Draws the pictures of the documentation: the README's, the machines', those of SARC's transfers.

`python -m narthex.documentation` draws them with the generated parts of the pages, and tests
compare them with what the simulator draws.
"""

import json
from pathlib import Path

from narthex import extras
from narthex.documentation import DOCS, outcome
from narthex.explanation import Explanation, explain
from narthex.listing import entries
from narthex.side_by_side import explain_all
from narthex.validation import plots

RANKED = ["NI2w", "CNI4", "CNI16Qm", "CNI32Qm", "CNI512Q", "NI16w+Blkbuf", "NI64w+Udma"]

LIFE, RANKING = DOCS / "life.svg", DOCS / "ranking.svg"
"""The README's pictures."""
SIDE_BY_SIDE = DOCS / "side-by-side.svg"
EXPERIMENTS = [
    f"modern/{name}"
    for name in (
        "bandwidth-by-size",
        "latency-by-size",
        "load-latency",
        "message-rate",
        "pio",
        "rdma-latency",
    )
]
"""Each is drawn into a file of its name."""


def draw() -> None:
    """Draw all of them anew."""
    LIFE.write_text(message_life(), encoding="utf-8")
    SIDE_BY_SIDE.write_text(lives_side_by_side(), encoding="utf-8")
    for name in EXPERIMENTS:
        plots.write(outcome(name), DOCS / f"{Path(name).name}.svg")
    ranking(RANKING)
    for file, drawn in (machine_pictures() | tile_lives() | hardware_waves()).items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(drawn, encoding="utf-8")


def machine_pictures() -> dict[Path, str]:
    """Return the pictures of the machines, as `narthex machine show --diagram` draws them."""
    from narthex import _native
    from narthex.charts import diagram

    names = [each["name"] for each in entries("machines")]
    shown = {name: json.loads(_native.machine_show(name, [], True))["machine"] for name in names}
    return {DOCS / "machines" / f"{name}.svg": diagram.svg(shown[name]) for name in names}


def message_life() -> str:
    """Draw one message's life, as `narthex explain CNI32Qm --diagram` does."""
    return _drawn(explain("CNI32Qm", 64))


def lives_side_by_side() -> str:
    """Draw a message over each interface of chip, as `narthex explain all --diagram` does."""
    return explain_all("all", 64, machine="chip").svg()


def tile_lives() -> dict[Path, str]:
    """Draw what goes from tile to tile, as `narthex explain SARC --of ... --diagram` does."""
    machine = "sarc-prototype"
    return {
        DOCS / "sarc" / f"{of}-life.svg": _drawn(explain("SARC", of=of, machine=machine))
        for of in ("remote-store", "rdma", "queue-lock")
    }


def hardware_waves() -> dict[Path, str]:
    """Draw a remote store in the signals of SARC's hardware, where its tools are installed."""
    if extras.lacking("hardware") or extras.lacking("compiler"):
        return {}
    from narthex.cosimulation import picture

    return {DOCS / "sarc" / "waves.svg": picture.remote_store()}


def _drawn(life: Explanation) -> str:
    from narthex.charts import sequence
    from narthex.report import lives

    return sequence.svg(lives.diagram(life.document))


def ranking(file: Path) -> None:
    """Draw interfaces by round-trip latency, as `narthex compare --plot` does."""
    from narthex.comparison import compare
    from narthex.report import pictures

    found = compare("roundtrip", 64, interfaces=RANKED, nodes=2)
    pictures.save([found.ranking()], found.title, file)
