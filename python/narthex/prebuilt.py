"""The programs of a wheel, compiled: they run where there is no compiler.

`python -m narthex.prebuilt FILE` compiles all programs and firmware that come with Narthex into
an archive, which `make wheel` puts into the wheel. Its members are named as in the cache folder;
it states what it was compiled of, and is not used with other sources or another compiler.
"""

import io
import sys
import zipfile
from pathlib import Path

from narthex import files

ARCHIVE = Path(__file__).with_name("prebuilt.zip")


def take(member: str, sources: str, output: Path) -> bool:
    """Copy a program from the archive to `output`; tells whether the archive has it.

    `sources` is the hash of all sources that the archive has to be compiled of.
    """
    if not ARCHIVE.is_file():
        return False
    with zipfile.ZipFile(ARCHIVE) as archive:
        if archive.comment.decode() != sources or member not in archive.namelist():
            return False
        files.write(output, archive.read(member), mode=0o777)
    return True


def make(archive: Path) -> None:
    """Compile all programs, with each driver apart too, and all firmware into an archive."""
    from narthex import compiler, drivers

    archive.unlink(missing_ok=True)  # what is there is not taken for what is to be compiled
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_LZMA) as made:
        made.comment = compiler.sources_hash().encode()
        all_apart = drivers.DRIVERS_APART.values()
        apart = (apart.interfaces[0] for apart in all_apart if apart.interfaces)
        for interface in ("", *apart):
            for name in compiler.program_names():
                elf = compiler.program_path(name, interface=interface)
                made.write(elf, compiler.member("programs", drivers.driver_apart(interface), name))
        for name in compiler.firmware_names():
            made.write(compiler.firmware_path(name), compiler.member("firmware", None, name))
    files.write(archive, whole.getvalue())


if __name__ == "__main__":
    make(Path(sys.argv[1]))
