"""What the page about sweeps shows is so: its files are read, its commands run."""

import re
import shlex

import pytest

from narthex.cli import main
from narthex.documentation import DOCS
from narthex.sweeps.loading import COLUMNS

PAGE = (DOCS / "sweeps.md").read_text(encoding="utf-8")


def blocks(language):
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    return [text for named, text in fenced if named == language]


def commands():
    """Return the commands that need no cluster."""
    lines = [line for block in blocks("") for line in block.splitlines()]
    sweeps = [line for line in lines if line.startswith("narthex sweep")]
    return [line for line in sweeps if "--dask" not in line and not line.endswith("--slurm")]


def test_the_pages_commands_and_programs_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for text in blocks("toml"):
        (tmp_path / re.match(r"# (\S+)\n", text)[1]).write_text(text)
    assert len(commands()) == 5
    for command in commands():
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code == 0, command
    printed = capsys.readouterr().out
    assert "\n6 runs\n" in printed
    assert "4 runs in 'results/zip'" in printed
    assert "8 runs in 'results/sampled'" in printed
    assert "#SBATCH -p compute\n" in printed
    picture = (tmp_path / "queue-size.svg").read_text()
    assert 'aria-label="Bandwidth by queue size: bandwidth (MB/s), ' in picture
    assert ">blocks<" in picture
    for program in blocks("python"):
        exec(program, {})
    assert capsys.readouterr().out.splitlines()[-1].startswith("64 ")


def test_the_page_names_every_column_and_option(capsys):
    with pytest.raises(SystemExit):
        main(["sweep", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help", "--json"}
    missing = [word for word in options | set(COLUMNS) if word not in PAGE]
    assert missing == []
