"""A project of fifty pages in a directory: dump, corpus, task, models with indexes."""

from __future__ import annotations

import bz2
from pathlib import Path

import numpy as np

SUBJECTS = (
    "car automobile engine wheel road driver motor vehicle",
    "moon rocket planet orbit star telescope crater astronaut",
    "bread flour oven baker yeast crust dough wheat",
)
PAGES = 51
MODELS = ("model", "tfidf")
"""Directories of the models that `make` writes."""


def write_dump(path: Path) -> Path:
    """Write pages of three subjects; a page links to others of its own subject."""
    rng = np.random.default_rng(0)
    pages = []
    for page in range(PAGES):
        words = SUBJECTS[page % 3].split()
        said = " ".join(rng.choice(words, 20))
        near = [n for n in range(page % 3, PAGES, 3) if n != page]
        links = " ".join(f"[[Page {n}]]" for n in rng.choice(near, 6, replace=False))
        pages.append(
            f"<page><title>Page {page}</title><ns>0</ns><id>{page + 1}</id><revision><id>{page + 1}"
            f"</id><timestamp>2020-01-01T00:00:00Z</timestamp><text>{said} {links}</text>"
            "</revision></page>"
        )
    text = (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" '
        'xml:lang="en"><siteinfo><sitename>Test</sitename><dbname>testwiki</dbname><namespaces>'
        '<namespace key="0" case="first-letter" /></namespaces></siteinfo>'
        f"{''.join(pages)}</mediawiki>"
    )
    path.write_bytes(bz2.compress(text.encode()))
    return path


def make(directory: Path) -> Path:
    """Write ``dump.xml.bz2``, ``corpus``, ``task``, and two models with an index each."""
    from ssi_core.models.latent.lsi import Lsi
    from ssi_core.models.tfidf import TfIdf
    from ssi_core.serving.index import build_index
    from ssi_core.tasks.reading import raw_texts
    from ssi_core.tasks.task import build_task, open_task
    from tests.sources import ingest

    dump = write_dump(directory / "dump.xml.bz2")
    ingest("wikipedia", [dump], directory / "corpus", processes=1)
    build_task(directory / "corpus", directory / "task")
    task = open_task(directory / "task")
    for name, model in zip(MODELS, (Lsi(dimensions=3), TfIdf()), strict=True):
        fitted = model.fit(task, np.random.default_rng(0))
        fitted.save(directory / name)
        index = directory / name / "index"
        parents, texts = {"task": task.key, "model": name}, raw_texts(directory / "task")
        build_index(fitted, task.documents, index, parents=parents, texts=texts)
    return directory
