"""Runs the notebooks and keeps what their cells show: `python -m narthex.notebooks`.

A reader sees the tables and the pictures without running anything. A test runs the notebooks
again and compares the words and numbers, so that they cannot be older than the simulator.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def executed(file: Path, folder: Path) -> Any:  # noqa: ANN401 - nbformat's
    """Run a notebook in a folder, and return it with its cells' outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)
    package = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    client = NotebookClient(
        notebook,
        timeout=600,
        record_timing=False,
        coalesce_streams=True,  # else a cell's lines come in as many parts as the clock makes
        resources={"metadata": {"path": folder}},
    )
    client.execute(env=os.environ | {"PYTHONPATH": path})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def words(notebook: Any) -> list[str]:  # noqa: ANN401 - nbformat's
    """Return what the cells of a notebook print and show as text, pictures left out."""
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            is_picture = "image/svg+xml" in data
            shown.append(output.get("text", "") or ("" if is_picture else data["text/plain"]))
    return shown


def main() -> None:
    """Run all notebooks and write their outputs into them."""
    import nbformat

    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        print(file.relative_to(NOTEBOOKS.parent), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(file, Path(folder)), file)


if __name__ == "__main__":
    main()
