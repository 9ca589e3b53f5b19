"""The notebooks run, cell by cell, and show what they are kept with."""

import os

import nbformat
import pytest

import narthex
from narthex import notebooks

same_programs = pytest.mark.skipif("CC" in os.environ, reason="another compiler makes other ones")


def kept(name):
    return nbformat.read(notebooks.NOTEBOOKS / name, as_version=4)


def run(name, folder):
    """Run a notebook in a folder."""
    return notebooks.executed(notebooks.NOTEBOOKS / name, folder)


def pictures(notebook):
    shown = [each.get("data", {}) for cell in notebook.cells for each in cell.get("outputs", [])]
    return [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]


@same_programs
def test_the_first_steps_show_what_they_are_kept_with(tmp_path):
    made = run("first-steps.ipynb", tmp_path)
    text = "".join(notebooks.words(made))
    assert "bus at 125MHz: " in text
    assert "there is no program 'roundtripp'; did you mean 'roundtrip'?" in text
    assert len(pictures(made)) == 6
    assert narthex.load(tmp_path / "ring.json").document["ending"] == "finished"
    assert notebooks.words(kept("first-steps.ipynb")) == notebooks.words(made), "run `make pages`"


@same_programs
def test_the_study_comes_to_the_choice_that_its_text_explains(tmp_path):
    name = "choose-a-queue-size.ipynb"
    made = run(name, tmp_path)
    shown = notebooks.words(made)
    assert shown[0] == "0"  # failed runs
    assert "CNI256Q: 32,768 bytes in every node" in shown[-1]
    assert len(pictures(made)) == 2
    assert notebooks.words(kept(name)) == shown, "run `make pages`"


@pytest.mark.parametrize("name", ["first-steps.ipynb", "choose-a-queue-size.ipynb"])
def test_every_cell_of_a_notebook_is_kept_with_its_output_and_without_a_path_of_a_machine(name):
    notebook = kept(name)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert "/tmp" not in "".join(notebooks.words(notebook))


def test_these_are_all_notebooks():
    names = sorted(file.name for file in notebooks.NOTEBOOKS.glob("*.ipynb"))
    assert names == ["choose-a-queue-size.ipynb", "first-steps.ipynb"]
