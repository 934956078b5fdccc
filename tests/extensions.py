"""Packages of other people: made, and found as if they were installed."""

import sys

from ssi_core import registry

CODE = '''
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from ssi_core.command.fields import option
from ssi_core.command.verb import Outcome, verb
from ssi_core.corpus.source import Source, files
from ssi_core.corpus.user_texts import write_own
from ssi_core.evaluation.measures import Measure
from ssi_core.models.base import Model, fitted
from ssi_core.scoring.vectors import Inner


@dataclass(frozen=True)
class Lengths(Model):
    """Words that both have, times a factor: no text is scaled to a length."""

    name: ClassVar[str] = "lengths"
    factor: float = 1.0

    def views(self):
        return {"counts"}

    def learn(self, task, rng, options):
        return fitted(self, task, {})

    def vectors(self, fitted, texts, side):
        return Inner(texts.matrix("counts") * (self.factor if side == "query" else 1.0), None)


class Lines(Source):
    """Read a file: a line is a document, its number the id."""

    examples: ClassVar = ("ssi data ingest lines poems.txt --out corpus",)
    origin: ClassVar = "lines"
    paths: tuple[Path, ...] = files("FILE", "File of the lines", most=1)

    @classmethod
    def looks_like(cls, path):
        return path.suffix == ".lines"

    def build(self, building, progress=None):
        texts = self.paths[0].read_text(encoding="utf-8").splitlines()
        rows = pl.DataFrame({"id": [str(n) for n in range(len(texts))], "text": texts})
        write_own(building, [rows], [], where=self.paths[0])


@dataclass(frozen=True, kw_only=True)
class HelloSettings:
    """Settings of ``ssi hello``."""

    name: str = option("world", "Name to greet.")


@verb(HelloSettings, examples=("ssi hello",))
def hello(given):
    """Greet."""
    return Outcome({"hello": given.name}, lambda console: console.print(f"hello, {given.name}"))


FIRST = Measure("first", "first", lambda ranks: (ranks.rank[ranks.start[:-1]] == 1) * 1.0)
'''
TARGET = """
from ssi_core.guests.export.writing import Target


def _write(place, material):
    material.counts["ids"] = sum(len(block.ids) for block in material.blocks())


IDS = Target({"query": {}}, _write)
"""
POINTS = {
    "models.lengths": "a_package_of_a_test:Lengths",
    "sources.lines": "a_package_of_a_test:Lines",
    "measures.first": "a_package_of_a_test:FIRST",
    "verbs.hello": "a_package_of_a_test:hello",
}


def install(path, monkeypatch, code=CODE, points=POINTS):
    """Write a package and its metadata, and put their directory on the path."""
    path.mkdir(parents=True)
    (path / "a_package_of_a_test.py").write_text(code)
    metadata = path / "a_package_of_a_test-1.0.dist-info"
    metadata.mkdir()
    about = "Metadata-Version: 2.1\nName: a_package_of_a_test\nVersion: 1.0\n"
    (metadata / "METADATA").write_text(about)
    lines = [f"{name} = {home}" for name, home in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[ssi]", *lines, ""]))
    monkeypatch.syspath_prepend(str(path))
    monkeypatch.delitem(sys.modules, "a_package_of_a_test", raising=False)
    fresh = registry._added.__wrapped__()
    monkeypatch.setattr(registry, "_added", lambda: fresh)
