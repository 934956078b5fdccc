"""Labelled texts of a user: a JSON object a line, with ``text``, ``label``, ``side``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ssi_core.corpus.inputs import read_lines
from ssi_core.guests.codes.labelled import LabelledText, LabelledTexts, collect
from ssi_core.types import BadInput, Progress

FORM = 'Expected: {"text": "...", "label": "...", "side": "train"}, or "test"; "id" if you like.'


def read_labelled_lines(path: str | Path, *, progress: Progress | None = None) -> LabelledTexts:
    """Read labelled texts, a JSON object a line; the file may be packed.

    A text without ``id`` has the number of its line.

    Parameters
    ----------
    path : str or Path
        The file.
    progress : Progress, optional
        Told the share that is read.

    Raises
    ------
    BadInput
        The file is missing, or a line is malformed; the message names the line.
    """
    path = Path(path)

    def rows() -> Iterator[LabelledText]:
        for number, (line, share) in enumerate(read_lines(path), 1):
            if progress is not None and number % 1000 == 0:
                progress(share, path.name)
            yield _row(line, number, f"{path}: line {number}")

    return collect(path.name.split(".")[0], rows(), str(path))


def _row(line: bytes | None, number: int, where: str) -> LabelledText:
    try:
        values = json.loads(line or b"")
    except ValueError as error:
        raise BadInput(f"{where}: it is not JSON ({error}). {FORM}") from None
    if not isinstance(values, dict):
        raise BadInput(f"{where}: it is no JSON object. {FORM}")
    for name in ("text", "label"):
        if not isinstance(values.get(name), str):
            raise BadInput(f"{where}: {name} is no text. {FORM}")
    if values.get("side") not in ("train", "test"):
        raise BadInput(f"{where}: side is {values.get('side')!r}. {FORM}")
    identifier = values.get("id", number)
    return LabelledText(str(identifier), values["text"], values["label"], values["side"])
