"""Files that carry a digest of their own bytes, so that damage is found before they are read.

    ... narthex-sha256:0000...0000 ...     as the format writes `BLANK`
    ... narthex-sha256:5f0c...91ab ...     sealed, with the digest of a name and the bytes above

A file that stands in the place of another is not whole either: a seal is for a name.
Any format will do that keeps a text as it is: `BLANK` is in the metadata of a
Parquet file, or a value of a JSON document, as its last text. Other programs
read these files as any other. A reader may do anything with a damaged file
(Polars panics), so Narthex reads none before `is_whole`.
"""

import hashlib

_MARK = b"narthex-sha256:"
_DIGITS = 64

BLANK = (_MARK + b"0" * _DIGITS).decode()
"""The text in whose place the digest comes."""


def seal(name: str, data: bytes) -> bytes:
    """Return a file's bytes with their digest in the place of the last `BLANK`."""
    before, blank, after = data.rpartition(BLANK.encode())
    if not blank:
        raise ValueError("there is no place for the seal")
    return before + _MARK + _digest(name, data) + after


def is_sealed(data: bytes) -> bool:
    """Tell whether a file has a seal, broken or not."""
    return _MARK in data


def is_whole(name: str, data: bytes) -> bool:
    """Tell whether a file has a seal, and every byte is as it was sealed by this name."""
    before, mark, after = data.rpartition(_MARK)
    digest, after = after[:_DIGITS], after[_DIGITS:]
    return bool(mark) and digest == _digest(name, before + BLANK.encode() + after)


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + data).hexdigest().encode()
