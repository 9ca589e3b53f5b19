"""The notebooks run, cell by cell, as they are."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import narthex

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def read(name):
    return nbformat.read(NOTEBOOKS / name, as_version=4)


def run(name, folder, monkeypatch):
    """Run a notebook in a folder; returns the outputs of each cell with some."""
    package = str(Path(narthex.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]))
    notebook = read(name)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]


def printed(outputs):
    return "".join(each.get("text", "") for of in outputs for each in of)


def pictures(outputs):
    kinds = (each.get("data", {}) for of in outputs for each in of)
    return [data["image/svg+xml"] for data in kinds if "image/svg+xml" in data]


def test_the_first_steps_run(tmp_path, monkeypatch):
    outputs = run("first-steps.ipynb", tmp_path, monkeypatch)
    text = printed(outputs)
    assert "bus at 125MHz: " in text
    assert "there is no program 'roundtripp'; did you mean 'roundtrip'?" in text
    assert len(pictures(outputs)) == 6
    assert narthex.load(tmp_path / "ring.json").document["ending"] == "finished"


def test_the_study_comes_to_the_choice_that_its_text_explains(tmp_path, monkeypatch):
    outputs = run("choose-a-queue-size.ipynb", tmp_path, monkeypatch)
    assert "CNI256Q: 32,768 bytes in every node" in printed(outputs)
    assert len(pictures(outputs)) == 2
    assert outputs[0][-1]["data"]["text/plain"] == "0"  # failed runs


@pytest.mark.parametrize("name", ["first-steps.ipynb", "choose-a-queue-size.ipynb"])
def test_notebooks_are_kept_without_outputs(name):
    cells = [cell for cell in read(name).cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)


def test_these_are_all_notebooks():
    names = sorted(file.name for file in NOTEBOOKS.glob("*.ipynb"))
    assert names == ["choose-a-queue-size.ipynb", "first-steps.ipynb"]
