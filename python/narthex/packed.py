"""Documents as they are kept: JSON, compressed, with the checksum that gzip adds."""

import gzip
import json
import zlib
from typing import Any


def packed(document: str) -> bytes:
    """Return a document's text as it is kept."""
    return gzip.compress(document.encode())


def unpacked(data: bytes) -> dict[str, Any] | None:
    """Return a kept document; nothing if it is damaged."""
    try:
        return json.loads(gzip.decompress(data))
    except (OSError, EOFError, zlib.error, ValueError):
        return None
