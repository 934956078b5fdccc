"""Which frozen set judges, when another is drawn, and what a kill leaves."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from flows import environment
from flows.training import frozen_sets
from ssi_core import store
from ssi_core.tasks import frozen as features
from tests.corpora import topical, write_corpus

TODAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def today(tmp_path, monkeypatch):
    """Set the day."""
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))

    def to(when):
        monkeypatch.setattr(frozen_sets, "now", lambda: when)

    to(TODAY)
    return to


@pytest.fixture
def corpora(tmp_path):
    texts, links = topical()
    return [
        write_corpus(tmp_path / str(n), texts[:n], [link for link in links if max(link) < n])
        for n in (160, 200)
    ]


def drawn(corpus, sets):
    return frozen_sets.draw("ssi", sets, str(corpus), split_seed=0, relevant=None)


def test_a_set_is_due_when_there_is_none_or_the_newest_is_old(corpora, today):
    assert frozen_sets.sets_of("ssi", []) == []
    assert frozen_sets.due([], 0)
    first = drawn(corpora[0], [])
    assert frozen_sets.sets_of("ssi", []) == [first]
    today(TODAY + timedelta(days=91))
    assert not frozen_sets.due([first], 91)
    today(TODAY + timedelta(days=91, minutes=1))
    assert frozen_sets.due([first], 91)
    assert not frozen_sets.due([first], 0)
    second = drawn(corpora[1], [first])
    assert frozen_sets.sets_of("ssi", []) == [second, first]
    assert not frozen_sets.due([second, first], 91)
    assert store.read(second).counts["newest_links"] > 0


def test_the_newest_judges_whoever_drew_it(corpora, today, tmp_path):
    first = drawn(corpora[0], [])
    features.freeze(corpora[1], tmp_path / "named", now=TODAY + timedelta(days=1))
    named = str(tmp_path / "named")
    assert frozen_sets.sets_of("ssi", [named, named]) == [named, first]
    assert frozen_sets.sets_of("other", [named]) == [named]
    today(TODAY + timedelta(days=2))
    assert frozen_sets.sets_of("ssi", [named])[0] != drawn(corpora[1], [named, first])
    assert len(frozen_sets.sets_of("ssi", [named])) == 3


def test_a_kill_leaves_the_old_set_or_the_new_one(corpora, monkeypatch):
    first = drawn(corpora[0], [])

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(features, "_texts_of", killed)
        with pytest.raises(KeyboardInterrupt):
            drawn(corpora[1], [first])
    assert frozen_sets.sets_of("ssi", []) == [first]
    # What lies half made beside it is no set either.
    (environment.home() / "frozen" / "ssi" / ".0002.partial").mkdir()
    assert frozen_sets.sets_of("ssi", []) == [first]
    assert drawn(corpora[1], [first]).endswith("0002")


def test_each_draw_asks_others(corpora):
    """Queries that one set has promoted by are not those of the next."""
    how = {"queries": 20, "now": TODAY}
    directory = environment.home()
    one, other = (
        features.freeze(corpora[1], directory / f"draw-{n}", draw=n, **how).path for n in (0, 1)
    )
    documents = [pl.read_parquet(path / "documents.parquet") for path in (one, other)]
    # Words are counted of queries alone.
    asked = [set(own.filter(pl.col("words").is_not_null())["title"]) for own in documents]
    assert len(asked[0]) == len(asked[1]) == 20
    assert asked[0] != asked[1]


def test_a_source_that_is_gone_makes_no_link_new(corpora, tmp_path):
    first = drawn(corpora[0], [])
    (corpora[0]).rename(tmp_path / "moved")
    second = store.read(drawn(corpora[1], [first]))
    assert "since" not in second.parents
    assert second.counts["newest_links"] == 0
