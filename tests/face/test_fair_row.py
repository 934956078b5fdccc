"""The strongest model that learns nothing: what rows are called, and what a verdict says."""

import numpy as np
import pytest

import ssi_core as ssi
from ssi_core.face.compare import title_of
from ssi_core.face.fit_result import Fit
from ssi_core.models.base import FittedModel
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.untrained import learns, title
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.latent.lsi import LsiMixture
from ssi_core.models.rm3 import Rm3
from ssi_core.selection import expectation, validation_halves
from ssi_core.selection.expectation import Prior
from tests.corpora import topical

pytestmark = pytest.mark.trains


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    texts, links = topical()
    path = tmp_path_factory.mktemp("fair")
    return ssi.Task.of(ssi.read(texts, links, out=path / "docs"), "link", out=path / "task")


@pytest.fixture(scope="module")
def base(task):
    return ssi.Ranker("untrained").fit(task)


@pytest.mark.parametrize(
    ("model", "called", "learned"),
    [
        (Bm25F(), "BM25F", False),
        (Bm25F(combine="scores"), "sum of the fields' BM25", False),
        (Rm3(), "BM25F + RM3", False),
        (Rm3(parts=({"model": "language_model"},)), "language model + RM3", False),
        (LsiMixture(tfidf_view="bm25"), "LSI + BM25", False),
        (Bilinear(), "SSI", True),
        (Mixture(({"model": "bilinear"}, {"model": "bm25f"})), "SSI + BM25F", True),
    ],
)
def test_a_model_is_called_by_what_it_is(model, called, learned):
    assert title(model) == called
    assert learns(called) is learned


def test_a_choice_that_learned_nothing_is_called_by_what_was_chosen(task, base):
    chosen = base.fitted_.facts["choice"]
    assert chosen in {one["model"] for one in base.fitted_.facts["untrained"]}
    same = ssi.SSI(auto=True).take(task, base.folds_, [])
    trained = ssi.SSI(budget=1000).fit(task)
    comparison = ssi.compare([base, same, trained], task)
    assert list(comparison.reports) == [chosen, f"{chosen} #2", "SSI(budget=1000)"]
    learned = ssi.SSI(auto=True).take(task, trained.folds_, [])
    assert list(ssi.compare([learned], task).reports) == ["SSI(auto=True)"]


def test_folds_that_differ_are_all_named(task, base):
    several = [FittedModel(one, {}, {}, {}) for one in (Bm25F(), Bilinear(), Bm25F())]
    assert title_of(ssi.SSI().take(task, several, [])) == "BM25F or SSI"


def fit_called(task, base, label, model):
    """A result whose model has a label, beside the baseline."""
    rankers = {"BM25F": base, label: model}
    comparison = ssi.compare(rankers, task, measures=["map"], baseline="BM25F")
    return Fit(task, model, comparison, label)


def test_a_verdict_never_says_that_something_was_learned_where_nothing_was(task, base):
    other = ssi.TfIdf(view="bm25").fit(task)
    untrained = fit_called(task, base, "LSI + BM25", other).verdict
    assert untrained.startswith("Nothing was learned from pairs. LSI + BM25 is ")
    assert "the strongest model that learns nothing: MAP " in untrained
    assert fit_called(task, base, "BM25F", base).verdict == (
        "Nothing was learned from pairs: the model is BM25F."
    )
    assert fit_called(task, base, "BM25F", base).words == f"Words: {task.counts['words']:,}."
    for label in ("SSI", "SSI + BM25F", "BM25F or SSI"):
        fit = fit_called(task, base, label, other)
        assert fit.verdict.startswith(f"{label} is ")
        assert "U and V have vectors for the" in fit.words


def test_defaults_say_in_a_sentence_what_was_learned(task):
    fitted = ssi.fit(task, auto=False, budget=2000)
    assert fitted.label == "SSI"
    base = fitted.comparison.baseline
    assert not learns(base)
    assert base in fitted.comparison.reports
    for words in ("SSI is ", f" {base}, the strongest model that learns nothing: MAP", "95 % int"):
        assert words in fitted.verdict
    assert "p " in fitted.verdict
    assert fitted.verdict.split(",")[0] in " ".join(str(fitted).split())


def test_the_documented_settings_go_by_passes_and_are_always_in_the_final(task):
    plain = ssi.SSI(measure="mrr").ranker()
    assert (plain.epoch, plain.patience, plain.decays, plain.stop_by) == (
        "passes",
        "passes",
        2,
        "mrr",
    )
    model = ssi.SSI(auto=True, dimensions=8, budget=1500, random_state=3)
    documented = model.ranker().documented
    assert documented == ssi.SSI(budget=1500)._settings()
    assert documented["patience"] == "passes"
    fit = model.fit(task).fitted_
    spent = fit.facts["auto"]["triples"] - sum(
        one["triples"] for one in fit.facts["auto"]["trials"]
    )
    assert spent > 0


def test_the_higher_mean_wins_however_few_queries_there_are(task):
    auto = ssi.SSI(auto=True).ranker()

    class Means:
        """Validation of three queries, on which nothing is told apart."""

        sizes = (2, 1)

        def values_of_both(self, fit):
            return np.full(3, fit.facts["mean"])

        def test(self, first, second, level):
            return validation_halves.Test(False, 0.5)

    def one(mean):
        return FittedModel(Bilinear(), {}, {}, {}, {"mean": mean})

    base = FittedModel(Bm25F(), {}, {}, {}, {"mean": 0.4})
    even = Prior(0.0, 0.05)
    chosen, p, why = auto._final(Means(), base, [one(0.39), one(0.41)], even)
    assert (chosen.facts["mean"], p) == (0.41, 0.5)
    assert "not told apart from" in why
    chosen, _, why = auto._final(Means(), base, [one(0.39), one(0.4)], even)
    assert chosen is base
    assert "no trained model is expected to be better" in why
    assert np.isfinite(p)


def test_what_others_gained_decides_where_queries_say_little(task):
    """Three queries are a hundredth in favour; a hundred times as many would be believed."""
    auto = ssi.SSI(auto=True).ranker()

    class Means:
        sizes = (2, 1)
        queries = 3

        def values_of_both(self, fit):
            return np.full(self.queries, fit.facts["mean"])

        def test(self, first, second, level):
            return validation_halves.Test(False, 0.5)

    base, better = (FittedModel(Bm25F(), {}, {}, {}, {"mean": mean}) for mean in (0.4, 0.41))
    few, many = Means(), Means()
    many.queries = 3000
    others = Prior(-0.02, 0.02)
    assert auto._final(few, base, [better], others)[0] is base
    assert auto._final(many, base, [better], others)[0] is better
    assert auto._final(few, base, [better], Prior(0.02, 0.02))[0] is better


def test_nothing_is_trained_where_nothing_lets_expect_a_gain(task, monkeypatch):
    monkeypatch.setitem(expectation.PRIORS, "documents", expectation._Line(-0.2, 0.0, 0.01))
    fit = ssi.SSI(auto=True, dimensions=8, budget=1500).fit(task).fitted_
    assert fit.facts["auto"]["trials"] == []
    assert fit.facts["auto"]["triples"] == 0
    assert "queries of validation tell little" in fit.facts["auto"]["reason"]
