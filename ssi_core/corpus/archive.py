"""Files of a published collection, in a folder or in a tar archive of any packing."""

from __future__ import annotations

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ssi_core import files
from ssi_core.types import BadInput

_REMEDY = "Download it again and compare its checksum."


def read_matching(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the match of the name, and the content, of each file whose name the pattern matches.

    Names are relative to the folder or the archive, with ``/``; a folder is read by sorted names,
    an archive in its order. Nothing is unpacked to disk.

    Raises
    ------
    BadInput
        The path is missing, or the archive is damaged.
    """
    if path.is_dir():
        for place in sorted(path.rglob("*")):
            name = pattern.fullmatch(place.relative_to(path).as_posix())
            if name and place.is_file():
                with files.reading(place, _REMEDY):
                    content = place.read_bytes()
                yield name, content
        return
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder. Check the path.")
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                name = pattern.fullmatch(member.name.removeprefix("./"))
                file = archive.extractfile(member) if name and member.isfile() else None
                if name and file:
                    yield name, file.read()
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        raise BadInput(f"{path}: {error}. {_REMEDY}") from None
