"""Why an added or a changed document is not among the first."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ssi_core.guests.live.searcher import Document, LiveSearcher
from ssi_core.serving.why import _with, why
from ssi_core.text.tokenizer import tokenize
from tests.serving.models import TEXTS, TITLES, WORDS
from tests.serving.test_why import MODELS, _above_chance, _searchers, rank


@pytest.fixture(scope="module")
def searchers(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # No text is short, so what results show of one is not what is read again.
        for module in ("serving.passages", "guests.live.searcher"):
            patch.setattr(f"ssi_core.{module}.LONGEST", 9)
        yield _searchers(tmp_path_factory.mktemp("why"))


def test_a_document_behind_one_of_its_own_score_is_not_there_yet(searchers):
    same = [Document(id, id, "rocket rocket") for id in ("one", "two")]
    found = why(LiveSearcher(searchers[0]).put(same), "rocket moon", "two", 1)

    assert (found.rank, found.above, found.gap) == (2, "one", 0.0)
    assert found.lines()[:2] == [
        f"two: place 2, score {found.score:.4f}.",
        f"one in place 1 has a score of {found.score:.4f}.",
    ]


@given(
    number=st.integers(0, len(MODELS) - 1),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    row=st.integers(0, len(TEXTS) - 1),
    k=st.integers(1, 4),
)
# All scores are below zero, and the model reads no headings: a heading brings the document nowhere.
@example(number=3, words=["engine", "moon"], row=4, k=1)
def test_a_proposed_change_reaches_its_rank_when_it_is_made(searchers, number, words, row, k):
    searcher, query = searchers[number], " ".join(words)
    found = why(searcher, query, f"d{row}", k)

    assert found.rank == rank(searcher, query, f"d{row}")
    if found.change is None:
        return
    assert found.rank is None or found.rank > k
    assert len(found.change.words) <= 3
    assert not set(tokenize(query)) <= set(found.change.words)
    # Vectors of three numbers relate words by chance alone, and few by more than it is expected to.
    assert set(found.change.words) <= set(tokenize(query)) | _above_chance(searcher.fitted, query)
    fields = {"title": TITLES[row], "headings": "", "text": TEXTS[row]}
    changed = _with(fields, found.change.field, found.change.words)
    live = LiveSearcher(searcher).put([Document(f"d{row}", **changed)])
    assert rank(live, query, f"d{row}") <= found.change.rank <= k


def test_a_document_that_was_added_is_asked_about_like_others(searchers):
    live = LiveSearcher(searchers[0]).put([Document("new", "New", "rocket road road road")])

    assert why(live, "rocket moon", "New", 1).rank == rank(live, "rocket moon", "new")
    same = [Document(f"d{row}", TITLES[row], text) for row, text in enumerate(TEXTS)]
    for row in range(len(TEXTS)):
        before = why(searchers[0], "wheel engine moon", f"d{row}", 1)
        assert (
            why(
                LiveSearcher(searchers[0]).put([same[row]]), "wheel engine moon", f"d{row}", 1
            ).change
            == before.change
        )
