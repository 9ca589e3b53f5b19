"""Files that users name: what is written, what is never replaced, what is refused."""

import fcntl
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from narthex import NarthexError, files


@pytest.fixture
def pipe(tmp_path):
    place = tmp_path / "pipe"
    os.mkfifo(place)
    return place


def listening(place):
    """Make a socket with a name; returns it, so that it lives."""
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(place))
    return made


def left_over(folder):
    return [file.name for file in folder.iterdir() if file.name.endswith(files.UNFINISHED)]


# --- writing --------------------------------------------------------------------


def test_a_new_file_has_the_mode_that_the_mask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "result.json", b"{}")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "result.json").stat().st_mode) == 0o640


def test_a_replaced_file_keeps_its_mode(tmp_path):
    file = tmp_path / "result.json"
    file.write_bytes(b"old")
    file.chmod(0o604)
    files.write(file, b"new")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o604)


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "result.json", tmp_path / "link.json"
    for content in (b"first", b"second"):  # it leads nowhere at first
        link.unlink(missing_ok=True)
        link.symlink_to("there/result.json")
        files.write(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert not left_over(tmp_path) + left_over(target.parent)


def test_a_pipe_is_written_into(pipe):
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    files.write(pipe, b"through")
    reader.join()
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_a_device_is_written_into(tmp_path):
    link = tmp_path / "nothing"
    link.symlink_to("/dev/null")
    files.write(link, b"gone")
    assert Path("/dev/null").is_char_device()
    assert link.is_symlink()
    with pytest.raises(NarthexError, match="cannot write '/dev/full': No space left on device"):
        files.write(Path("/dev/full"), b"x")


def test_an_open_file_is_written_into_by_its_number(tmp_path):
    file = tmp_path / "out"
    with file.open("wb") as opened:
        before = file.stat().st_ino
        files.write(Path(f"/dev/fd/{opened.fileno()}"), b"here")
    assert (file.read_bytes(), file.stat().st_ino) == (b"here", before)


def test_a_file_in_a_folder_that_takes_none_is_written_into(tmp_path):
    folder = tmp_path / "fixed"
    folder.mkdir()
    file = folder / "result.json"
    file.write_bytes(b"a longer one")
    folder.chmod(0o555)
    files.check_writable(file, "")
    files.write(file, b"new")
    folder.chmod(0o755)
    assert file.read_bytes() == b"new"


def test_a_write_that_fails_leaves_the_former_file(tmp_path, monkeypatch):
    file = tmp_path / "result.json"
    file.write_bytes(b"old")

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NarthexError, match="No space left on device"):
        files.write(file, b"new")
    assert file.read_bytes() == b"old"
    assert not left_over(tmp_path)


def test_what_a_killed_writer_left_is_deleted_and_what_another_writes_is_not(tmp_path):
    file = tmp_path / "result[1].json"
    left, other, written = (
        tmp_path / f"{name}{files.UNFINISHED}"
        for name in ("result[1].json.0123abcd", "result1.json.0123abcd", "result[1].json.4567cdef")
    )
    for each in (left, other, written):
        each.write_bytes(b"half")
    with written.open("rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        files.write(file, b"whole")
    assert {each.name for each in tmp_path.iterdir()} == {file.name, other.name, written.name}


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    file = tmp_path / ("é" * 127)
    files.write(file, b"x")
    assert file.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "is a folder; choose another"),
        ("socket", "is a socket; choose another"),
        ("none/x", "none' does not exist; choose another"),
        ("fixed/x", "fixed' is read-only; choose another"),
        ("x" * 300, "cannot write .*File name too long"),
        ("a\0b", "embedded null byte"),
    ],
    ids=lambda value: value.partition("'")[0][:8],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "fixed").mkdir(mode=0o555)
    with listening(tmp_path / "socket"), pytest.raises(NarthexError, match=message):
        files.check_writable(tmp_path / name, "choose another")


@pytest.mark.parametrize("name", ["/dev/null", "/dev/full", "/dev/stdout"])
def test_a_device_is_a_place_to_write(name):
    files.check_writable(Path(name), "")


# --- reading --------------------------------------------------------------------


def test_a_pipe_can_be_read(pipe):
    writer = threading.Thread(target=pipe.write_bytes, args=[b"x" * 3_000_000])
    writer.start()
    assert len(files.read(pipe, "a result", 3_000_000)) == 3_000_000
    writer.join()


def test_what_is_too_large_is_refused_and_not_read(tmp_path):
    huge = tmp_path / "huge"
    with huge.open("wb") as opened:
        opened.truncate(1 << 40)
    with pytest.raises(NarthexError, match="huge' is too large for a result: more than 2 MiB"):
        files.read(huge, "a result", 2 << 20)


def test_a_pipe_that_does_not_end_is_refused(pipe):
    def pour():
        with pipe.open("wb") as opened:
            try:
                while True:
                    opened.write(bytes(1 << 20))
            except BrokenPipeError:
                pass

    writer = threading.Thread(target=pour)
    writer.start()
    with pytest.raises(NarthexError, match="is too large for a program: more than 4 MiB"):
        files.read(pipe, "a program", 4 << 20)
    writer.join()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/dev/zero", "'/dev/zero' is a device, and cannot be a result"),
        ("/", "'/' is a folder, and cannot be a result"),
        ("nowhere", "cannot read 'nowhere': No such file or directory"),
        ("a\0b", "cannot read .*embedded null byte"),
    ],
)
def test_what_is_no_file_is_refused(name, message):
    with pytest.raises(NarthexError, match=message):
        files.read(Path(name), "a result", 1 << 20)
