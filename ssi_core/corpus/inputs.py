"""Raw input by its content: sha256, remembered as long as size and time of change stand still."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ssi_core import store
from ssi_core.types import BadInput, Progress


def digest_inputs(
    files: Sequence[Path], *, cache: Path | None = None, progress: Progress | None = None
) -> dict[str, str]:
    """Return file name -> sha256 of raw input files, the parents of a corpus.

    Parameters
    ----------
    cache : JSON file of known digests, by path, size and time of change; by default
        ``$SSI_HOME/inputs.json``, and none when ``SSI_HOME`` isn't set

    Raises
    ------
    BadInput
        A file is missing, or two files have one name.
    """
    home = os.environ.get("SSI_HOME")
    if cache is None and home:
        cache = Path(home) / "inputs.json"
    known = _known(cache)
    found: dict[str, str] = {}
    for file in files:
        if not file.is_file():
            raise BadInput(f"{file}: there is no such file. Check the path.")
        if file.name in found:
            raise BadInput(f"{file}: a file of that name is given twice. Give each file once.")
        state = file.stat()
        entry = f"{file.resolve()}|{state.st_size}|{state.st_mtime_ns}"
        if entry not in known:
            if progress is not None:
                progress(0.0, f"reading the checksum of {file.name}")
            known[entry] = store.digest_file(file)
        found[file.name] = known[entry]
    if cache is not None:
        cache.parent.mkdir(parents=True, exist_ok=True)
        store.write_json(cache, known)
    return found


def _known(cache: Path | None) -> dict[str, str]:
    # A cache that can't be read costs a second look at the files and nothing else.
    try:
        known = json.loads(cache.read_text(encoding="utf-8")) if cache is not None else {}
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
