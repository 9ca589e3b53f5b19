"""What an installation brings: a source distribution, a package's page, sets of requirements."""

import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

from narthex.assets import EXPERIMENTS, GUEST

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEVELOPERS_TOOLS = r"\$\(BIN\)/(pytest|ruff|mypy|mkdocs|clang-format)|narthex\.notebooks"


def locked(name):
    """Return the packages of a file with their versions, whatever the system they are for."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {line.partition(" ;")[0] for line in lines}


def test_what_users_need_is_a_part_of_what_developers_need_in_the_same_versions():
    assert locked("requirements.lock") < locked("requirements-develop.lock")
    assert not any(line.startswith(("pandas", "pyarrow")) for line in locked("requirements.lock"))


def test_every_target_that_runs_a_developers_tool_installs_them():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):([^\n#]*).*\n((?:\t.*\n)*)", text, flags=re.MULTILINE)
    using = [
        (name, needs) for name, needs, recipe in targets if re.search(DEVELOPERS_TOOLS, recipe)
    ]
    assert {"lint", "python-test", "docs"} <= {name for name, _ in using}
    assert [name for name, needs in using if "$(VENV)/.develop" not in needs] == []


def test_the_packages_page_has_no_link_that_leads_nowhere_there():
    page = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https?://)[^)]*\)|<img", page) == []


def test_the_citation_names_the_projects_authors():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for author in PROJECT["authors"]:
        assert f"  - name: {author['name']}\n" in citation


@pytest.mark.skipif(not (shutil.which("maturin") and shutil.which("cargo")), reason="needs maturin")
def test_the_source_distribution_has_the_guests_the_experiments_the_hardware_and_the_guide(
    tmp_path,
):
    command = ["maturin", "sdist", "--out", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    linked = {"guest": GUEST, "experiments": EXPERIMENTS, "hardware": ROOT / "hardware"}
    for link, folder in linked.items():
        wanted = [
            each for each in folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts
        ]
        assert wanted
        for each in wanted:
            assert f"python/narthex/{link}/{each.relative_to(folder)}" in names
    assert {"docs/index.md", "CHANGELOG.md", "CITATION.cff", "python/README.md"} <= names
    assert not any("__pycache__" in name or name.endswith(".so") for name in names)
