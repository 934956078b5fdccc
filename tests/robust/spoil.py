"""Ways to spoil a file of a directory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from ssi_core.store import MANIFEST
from tests.seals import reseal


def cut(*files: str) -> Callable[[Path], None]:
    def spoil(here: Path) -> None:
        for file in files:
            data = (here / file).read_bytes()
            (here / file).write_bytes(data[: len(data) // 2])

    return spoil


def flip(file: str, at: float = 0.5) -> Callable[[Path], None]:
    def spoil(here: Path) -> None:
        data = bytearray((here / file).read_bytes())
        data[int(len(data) * at)] ^= 0xFF
        (here / file).write_bytes(bytes(data))

    return spoil


def remove(name: str) -> Callable[[Path], None]:
    def spoil(here: Path) -> None:
        path = here / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return spoil


def holds(file: str, content: str | bytes) -> Callable[[Path], None]:
    data = content if isinstance(content, bytes) else content.encode()
    return lambda here: (here / file).write_bytes(data)


def says(file: str, **facts: object) -> Callable[[Path], None]:
    """Change facts of a JSON file; None takes one away. A manifest is sealed anew."""

    def spoil(here: Path) -> None:
        if Path(file).name in (MANIFEST, "model.json"):
            reseal((here / file).parent, Path(file).name, **facts)
            return
        said = json.loads((here / file).read_text()) | facts
        said = {name: fact for name, fact in said.items() if fact is not None}
        (here / file).write_text(json.dumps(said))

    return spoil


def sealed(spoil: Callable[[Path], object], directory: str) -> Callable[[Path], None]:
    """Spoil a directory as somebody would who also wrote its manifest anew."""

    def both(here: Path) -> None:
        spoil(here)
        model = (here / directory / "model.json").exists()
        reseal(here / directory, "model.json" if model else MANIFEST)

    return both


def nothing(here: Path) -> None:
    pass
