"""Ads of an index and new ones, for pages."""

from pathlib import Path

import pytest

from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.matching import Matcher, NewAds, page_text
from ssi_core.serving.searcher import Searcher
from ssi_core.types import BadInput
from tests.corpora import write_corpus
from tests.serving.models import TEXTS, TITLES, documents, random_models

MODELS = random_models(0)
NAMED = [type(model.model).__name__ + str(i) for i, model in enumerate(MODELS)]
PAGE = "car automobile moon wheel road rocket engine planet"


def searcher(fitted, path, rows):
    own = documents(dict(fitted.document_views)).take(rows)
    build_index(fitted, own, path, parents={"rows": str(rows)})
    return Searcher(fitted, open_index(path))


@pytest.mark.parametrize("fitted", MODELS, ids=NAMED)
def test_a_new_ad_scores_as_if_it_had_been_indexed(tmp_path, fitted):
    whole = Matcher(searcher(fitted, tmp_path / "whole", slice(0, 6)))
    part = Matcher(searcher(fitted, tmp_path / "part", slice(0, 4)))
    part.add(NewAds(["d4", "d5"], TITLES[4:], TEXTS[4:]))
    for k in (1, 3, 6):
        expected, found = (m.match([PAGE, "moon"], k) for m in (whole, part))
        for one, other in zip(expected, found, strict=True):
            assert [hit.id for hit in one.hits] == [hit.id for hit in other.hits]
            scores = [[hit.score for hit in answer.hits] for answer in (one, other)]
            assert scores[0] == pytest.approx(scores[1], rel=1e-5, abs=1e-6)


def test_a_new_ad_takes_the_place_of_an_old_one_of_its_id(tmp_path):
    matcher = Matcher(searcher(MODELS[0], tmp_path / "index", slice(0, 6)))
    matcher.add(NewAds(["d2"], ["Car, again"], ["car car engine"]))
    hits = matcher.match(["car engine"], 6)[0].hits
    assert [hit.title for hit in hits if hit.id == "d2"] == ["Car, again"]
    assert hits[0].id == "d2"
    matcher.add(NewAds((), (), ()))
    assert matcher.match(["moon"], 6)[0].hits == matcher.searcher.search(["moon"], 6)[0].hits


def test_a_page_without_a_known_word_has_no_ads(tmp_path):
    matcher = Matcher(searcher(MODELS[0], tmp_path / "index", slice(0, 6)))
    matcher.add(NewAds(["n"], ["New"], ["car"]))
    answer = matcher.match(["xyzzy"], 3)[0]
    assert answer.hits == ()
    assert "none of the query's words" in answer.reason


def test_a_page_is_a_file_or_a_title_of_a_corpus(tmp_path):
    (tmp_path / "page.txt").write_text("a page on cars")
    assert page_text(str(tmp_path / "page.txt"), None) == "a page on cars"
    corpus = write_corpus(tmp_path / "corpus", ["first", "second", "third"], [])
    assert page_text("Page 2", corpus) == "third"
    assert page_text("d1", corpus) == "second"
    (tmp_path / "clicks").mkdir()
    corpus.rename(tmp_path / "clicks" / "pages")
    assert page_text("d1", tmp_path / "clicks") == "second"


@pytest.mark.parametrize(
    ("page", "said"),
    [("Nowhere", "no page has the title or id 'Nowhere'"), ("x" * 5000, "no page has the title")],
)
def test_a_page_that_is_not_there_is_named(tmp_path, page, said):
    corpus = write_corpus(tmp_path / "corpus", ["first", "second"], [])
    with pytest.raises(BadInput, match=said):
        page_text(page, corpus)
    with pytest.raises(BadInput, match="is no file"):
        page_text(page, None)


def test_a_file_that_is_no_text_is_named(tmp_path):
    Path(tmp_path / "page.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match=r"page.txt: .*Check the path"):
        page_text(str(tmp_path / "page.txt"), None)
