"""The examples of the guide compile as a user's programs do, and run."""

import guide
import pytest

import narthex
from narthex.assets import GUEST
from narthex.documentation import DOCS

NODES = 4

PRINTED = {
    "ring.c": "the nodes' numbers add up to 6\n",
    "halo.c": "the first point has 157.617901 left\n",
    "statistics.cpp": "mean 499.5, largest 999\n",
    "histogram.c": "160 numbers counted\n",
}


def run(source, tmp_path, nodes):
    """Return what a program of the user's prints, compiled and run."""
    program = narthex.compile([source], tmp_path / "program")
    said = []
    keep = lambda _node, _process, _stream, text: said.append(text)  # noqa: E731
    narthex.run(str(program), nodes=nodes, output=keep)
    return b"".join(said).decode()


def test_every_example_is_tested():
    # The forwarder is a machine, which test_firmware.py runs.
    sources = {path.name for path in (GUEST / "examples").iterdir()} - {
        "README.md",
        "forwarder.toml",
    }
    assert sources == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_says_what_it_should(name, tmp_path):
    copy = tmp_path / name
    copy.write_bytes((GUEST / "examples" / name).read_bytes())
    assert run(copy, tmp_path, NODES) == PRINTED[name]


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_the_guides_programs_run_on_16_nodes(language, tmp_path):
    page = (DOCS / "guest.md").read_text(encoding="utf-8")
    programs = [block for block in guide.blocks(page) if block.language == language and block.title]
    assert programs
    for program in programs:
        source = tmp_path / program.title
        source.write_text(program.text)
        run(source, tmp_path, nodes=16)
