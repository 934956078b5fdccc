"""Titles and headings of a site's pages as queries to learn from."""

import numpy as np
import pytest

import ssi_core as ssi
from ssi_core.face import fit_cache
from ssi_core.guests.site import learning
from ssi_core.guests.site.names import NAMES, NamedTask
from tests.guests.site.made import encyclopedia

pytestmark = [pytest.mark.usefixtures("own_root"), pytest.mark.trains]


def with_headings(folder):
    """Add a heading of its own to each page, and one that all pages have."""
    for number, page in enumerate(sorted(folder.glob("wiki/*.html"))):
        text = page.read_text()
        more = f"<h2>Part {number} of it</h2><h2>See also</h2></main>"
        page.write_text(text.replace("</main>", more))
    return folder


def test_names_are_titles_and_headings_of_few_pages(tmp_path):
    documents = ssi.read(with_headings(encyclopedia(tmp_path / "public")))
    data = learning.task_of(documents).data
    named = data.auxiliary[NAMES]
    pairs = np.concatenate([named.train.rows, named.valid.rows])
    texts, ids = named.queries.titles.to_list(), data.documents.ids.to_list()
    found = {(texts[query], ids[page]) for query, page in pairs}
    titles = {(title, page) for page, title in documents.frame.select("id", "title").rows()}
    assert titles <= found
    headings = {(f"Part {n} of it", page) for n, page in enumerate(sorted(ids))}
    assert found - titles == headings
    assert 0 < len(named.valid) < 0.2 * len(pairs)
    assert sorted(pairs[:, 0]) == list(range(len(texts)))


def test_titles_that_are_asked_for_are_not_learnt_from(tmp_path):
    folder = tmp_path / "public"
    folder.mkdir()
    for number in range(60):
        text = f"# Page {number}\n\n## Heading {number}\n\nText {number}."
        (folder / f"{number}.md").write_text(text)
    (folder / "2.md").write_text("# Page 2\n\nA [link](3.md).")
    documents = ssi.read(folder)
    task = learning.task_of(documents)
    assert task.artefact.configuration["queries"] == "titles"
    link = task.data.auxiliary["link"]
    assert (len(link.train), len(link.valid)) == (1, 0)  # a training cannot begin with it
    titles = task.data.auxiliary[NAMES].queries.titles
    assert titles.str.starts_with("Heading").all()
    found = ssi.site(documents, tmp_path / "search", budget=20_000).search("Heading 7")
    assert found[0].url == "7.html"


def test_a_change_of_what_names_are_makes_another_training(tmp_path, monkeypatch):
    task = learning.task_of(ssi.read(encyclopedia(tmp_path / "public")))
    digest, build, built = fit_cache.digest_of, fit_cache._build, []

    def changed(*things):
        return digest(*things) + ("changed" if NamedTask in things else "")

    def building(*given, **named):
        built.append(True)
        build(*given, **named)

    monkeypatch.setattr(fit_cache, "_build", building)
    for digest_of, builds in ((digest, 1), (digest, 1), (changed, 2)):
        monkeypatch.setattr(fit_cache, "digest_of", digest_of)
        fit_cache.fit_once(ssi.Ranker("bm25f"), task)
        assert len(built) == builds
