"""What is particular to the bilinear family."""

import dataclasses
import gc
import json
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import Validator
from ssi_core.kernels.vectors import converts_float16
from ssi_core.models import load_model
from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear import low_rank
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.training import MapTraining, shared_words
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import build_task, open_task
from ssi_core.training import sgd
from ssi_core.training.descend import Diverged
from ssi_core.training.sgd import Sgd
from ssi_core.types import BadInput, Pairs, Texts
from ssi_core.views.lexicon import Vocabulary
from ssi_core.views.text_view import TextView
from tests.scores import all_scores
from tests.seals import reseal
from tests.training.as_well import assert_two_threads_learn_as_well

pytestmark = pytest.mark.trains

SMALL = Bilinear(dimensions=8, rates=(0.1,), epoch=500, budget=2000, margin=0.3)


@pytest.mark.parametrize("diagonal", ["none", "identity", "alpha", "learned"])
@pytest.mark.parametrize(
    ("form", "tied"), [("zero", False), ("low_rank", False), ("low_rank", True)]
)
def test_score_is_the_formula(form, tied, diagonal, task):
    """f = sum_i diag_i q_i d_i + q' U' V d in float64, views of W and of the diagonal differ."""
    if (form, diagonal) == ("zero", "none"):
        with pytest.raises(ValueError, match="scores nothing"):
            Bilinear(form=form, diagonal=diagonal)
        return
    model = dataclasses.replace(
        SMALL, form=form, tied=tied, diagonal=diagonal, alpha=2.5, alpha_rate=0.1, budget=600,
        view="sublinear", diagonal_view="raw",
    )  # fmt: skip
    fit = model.fit(task, np.random.default_rng(0))
    x = task.queries.matrix("sublinear").toarray().astype(np.float64)
    xd = task.queries.matrix("raw").toarray().astype(np.float64)
    expected = np.zeros((len(x), len(x)))
    if form == "low_rank":
        U = np.asarray(fit.arrays["U"], np.float64)
        V = U if tied else np.asarray(fit.arrays["V"], np.float64)
        expected += (x @ U) @ (x @ V).T
    if diagonal != "none":
        weights = {"identity": 1.0}.get(diagonal)
        expected += (xd * (fit.arrays["diagonal"] if weights is None else weights)) @ xd.T
    np.testing.assert_allclose(all_scores(fit, task), expected, atol=2e-5)
    if tied:
        np.testing.assert_allclose(expected, expected.T, atol=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_documents_of_one_length_are_in_the_score_and_in_its_words(tied, task):
    """f = sum_i D_i q_i d_i + c (U q)' (V d) / |V d| in float64, c twice the mean length."""
    view = "sublinear:10"
    model = dataclasses.replace(SMALL, tied=tied, diagonal="learned", budget=600, view=view)
    plain = model.fit(task, np.random.default_rng(0))
    fit = dataclasses.replace(model, length=2.0).fit(task, np.random.default_rng(0))
    for name, array in plain.arrays.items():
        np.testing.assert_array_equal(fit.arrays[name], array)
    x = task.queries.matrix(view).toarray().astype(np.float64)
    U = np.asarray(fit.arrays["U"], np.float64)
    documents = x @ (U if tied else np.asarray(fit.arrays["V"], np.float64))
    lengths = np.linalg.norm(documents, axis=1)
    assert fit.arrays["length"][0] == pytest.approx(2 * lengths.mean(), rel=1e-5)
    documents[lengths > 0] *= 2 * lengths.mean() / lengths[lengths > 0, None]
    expected = (x @ U) @ documents.T + (x * fit.arrays["diagonal"]) @ x.T
    np.testing.assert_allclose(all_scores(fit, task), expected, atol=2e-5)
    for side, texts in (("query", task.queries), ("document", task.documents)):
        words = fit.dense_words(texts, side)
        embed = fit.embed_queries if side == "query" else fit.embed_documents
        np.testing.assert_allclose(words.weights @ words.embedding, embed(texts).dense, atol=1e-5)


@pytest.mark.parametrize("stop_by", ["rank_loss", "mrr"])
def test_validation_chooses_the_length(stop_by, task):
    values = (0.1, 1.0, 10.0)
    model = dataclasses.replace(SMALL, stop_by=stop_by, budget=600)
    each = [
        dataclasses.replace(model, length=value).fit(task, np.random.default_rng(0))
        for value in values
    ]
    chosen = dataclasses.replace(model, length=values).fit(task, np.random.default_rng(0))
    validator = Validator(task, "valid", model.validation_queries)
    if stop_by == "mrr":
        best = np.argmax([MEASURES["mrr"](validator.ranks(fit)).mean() for fit in each])
    else:
        best = np.argmin([validator.rank_loss(fit) for fit in each])
    assert chosen.facts["length"] == values[best]
    assert chosen.arrays["length"] == each[best].arrays["length"]


def test_a_length_needs_a_low_rank():
    with pytest.raises(ValueError, match=r"length=1\.0 needs U and V"):
        Bilinear(form="zero", diagonal="learned", length=1.0)


def test_low_rank_on_frequent_words_beside_the_whole_diagonal(corpus_dir, tmp_path):
    """(U'V)_n + I: rows of U and V for n words, the diagonal for all, saved and read from text."""
    build_task(corpus_dir, tmp_path / "task", views=("raw", "raw@40"))
    task = open_task(tmp_path / "task")
    model = dataclasses.replace(SMALL, view="raw@40", diagonal_view="raw", budget=500)
    fit = model.fit(task, np.random.default_rng(0))
    U, V = (fit.arrays[name].astype(np.float64) for name in ("U", "V"))
    assert U.shape == V.shape == (40, 8)
    x = task.queries.matrix("raw").toarray().astype(np.float64)
    np.testing.assert_allclose(
        all_scores(fit, task), x[:, :40] @ U @ V.T @ x[:, :40].T + x @ x.T, atol=2e-5
    )
    fit.save(tmp_path / "model")
    views = load_model(tmp_path / "model").query_views
    assert views["raw"]._counter is views["raw@40"]._counter  # texts are read once
    view = views["raw@40"]
    assert view.space == task.queries.views["raw@40"].space != task.queries.views["raw"].space
    row = view.transform(["boats1 boats2 common1"])
    assert row.shape == (1, 40)


def test_start_without_a_step_is_tfidf(task):
    """W = D starts at the identity: with a rate of nearly 0 it stays the cosine."""
    model = Bilinear(form="zero", diagonal="learned", rates=(1e-12,), epoch=10, budget=10)
    cosine = TfIdf("raw").fit(task, np.random.default_rng(0))
    fit = model.fit(task, np.random.default_rng(0))
    np.testing.assert_allclose(all_scores(fit, task), all_scores(cosine, task), atol=1e-6)


def test_adagrad_needs_an_embedding():
    with pytest.raises(ValueError, match="adagrad=True needs U and V"):
        Bilinear(form="zero", diagonal="learned", adagrad=True)


def test_alpha_and_margin_are_one_knob(task):
    """alpha I, margin 1, std s is I, margin 1 / alpha, std s / sqrt(alpha), at the same rate."""
    one = dataclasses.replace(SMALL, diagonal="alpha", alpha=4.0, margin=1.0, init_std=0.2)
    other = dataclasses.replace(SMALL, diagonal="identity", margin=0.25, init_std=0.1)
    a, b = (m.fit(task, np.random.default_rng(3)) for m in (one, other))
    np.testing.assert_allclose(all_scores(a, task), 4 * all_scores(b, task), rtol=1e-5, atol=1e-5)


def test_learning_lowers_the_validation_loss_and_watch_sees_it(task):
    seen = []
    model = dataclasses.replace(SMALL, diagonal="none", budget=5000)
    fit = model.fit(task, np.random.default_rng(0), watch=lambda s, m: seen.append((s, dict(m))))
    losses = [m["val/rank_loss"] for _, m in seen]
    assert [s for s, _ in seen][:3] == [0, 500, 1000]
    assert fit.facts["validation_rank_loss"] == min(losses) < losses[0] / 2
    assert fit.facts["best_at"] == seen[int(np.argmin(losses))][0]


def test_best_parameters_are_restored(task):
    """A rate that destroys the model leaves the start, which is the best."""
    model = dataclasses.replace(SMALL, rates=(1.0,), init_std=1e-6)
    fit = model.fit(task, np.random.default_rng(0))
    assert fit.facts["best_at"] == 0
    assert np.isfinite(fit.arrays["U"]).all()
    assert np.abs(fit.arrays["U"]).max() < 1e-4


def test_search_takes_the_rate_of_the_lowest_training_loss(task):
    model = dataclasses.replace(SMALL, rates=(1e-7, 0.1), search_budget=2000, diagonal="none")
    facts = model.fit(task, np.random.default_rng(0)).facts
    assert facts["rate"] == 0.1
    losses = {t["settings"]["rate"]: t["training"] for t in facts["trials"]}
    assert losses[0.1] < losses[1e-7]


def test_search_of_alpha_margin_and_start_is_by_validation(task):
    model = dataclasses.replace(
        SMALL, diagonal="alpha", alpha=(1.0, 4.0), margin=(0.1, 1.0), init_std=(0.01, 1.0)
    )
    facts = model.fit(task, np.random.default_rng(0)).facts
    assert len(facts["trials"]) == 8
    best = min(facts["trials"], key=lambda t: t["validation"])["settings"]
    assert (facts["init_std"], facts["margin"]) == (best["init_std"], best["margin"])


@pytest.mark.parametrize("adagrad", [False, True])
def test_kill_and_resume_gives_the_same_bits(adagrad, task, tmp_path):
    """Training that is cut off after a validation goes on from its checkpoint, bit by bit."""
    model = dataclasses.replace(SMALL, adagrad=adagrad)
    whole = model.fit(task, np.random.default_rng(5))

    class Cut(Exception):
        pass

    def cut(step, metrics):
        if step == 1000:
            raise Cut

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(Cut):
        model.fit(task, np.random.default_rng(5), watch=cut, checkpoint=checkpoint)
    steps = []
    again = model.fit(
        task, np.random.default_rng(5), checkpoint=checkpoint, watch=lambda s, m: steps.append(s)
    )
    # The state is written when the watch ends a training: no validation is repeated.
    assert again.facts["resumed_at"] == 1000
    assert steps[0] == 0
    assert len(steps) == len(set(steps))
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_an_interrupted_training_goes_on_with_other_threads(
    before, after, task, tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr(sgd, "_PIECE", 10)
    model = dataclasses.replace(SMALL, diagonal="none", epoch=100, budget=200)
    reached = []

    def cut(step, metrics):
        if step == 100:
            reached.append(metrics["val/rank_loss"])
            raise KeyboardInterrupt

    def fit(threads, watch=None):
        rng = np.random.default_rng(5)
        return model.fit(task, rng, threads=threads, watch=watch, checkpoint=tmp_path / "state")

    with pytest.raises(KeyboardInterrupt):
        fit(before, cut)
    again = fit(after)
    assert again.facts["resumed_at"] == again.facts["reseeded_at"] == 100
    assert (again.facts["threads"], again.facts["triples"]) == (after, 200)
    assert "with other threads than before" in caplog.text
    whole = model.fit(task, np.random.default_rng(5))
    assert "reseeded_at" not in whole.facts
    loss = [fit.facts["validation_rank_loss"] for fit in (again, whole)]
    assert abs(loss[0] - loss[1]) < (reached[0] - loss[1]) / 2


def test_samplers_that_are_seeded_anew_draw_something_else(task):
    training = MapTraining(SMALL, task, {}, 3, FitOptions(threads=2))
    settings = {"rate": 0.1, "init_std": 0.1, "alpha": 1.0, "margin": 0.3}
    states = []
    for triples in (0, 500, 1000):
        sgd = training.begin(settings)
        if triples:
            sgd.reseed(triples)
        states += sgd.arrays["states"][:, 0, 0].tolist()
    assert len(set(states)) == 6


def test_a_checkpoint_of_other_shapes_is_refused(task, tmp_path):
    SMALL.fit(task, np.random.default_rng(0), checkpoint=tmp_path / "state")
    other = dataclasses.replace(SMALL, dimensions=24)
    with pytest.raises(BadInput, match=r"has the shape .* Remove "):
        other.fit(task, np.random.default_rng(0), checkpoint=tmp_path / "state")


def test_a_rate_that_diverges_is_passed_over_and_alone_is_an_error(task):
    model = dataclasses.replace(SMALL, rates=(1e6, 0.1), search_budget=500, diagonal="none")
    fit = model.fit(task, np.random.default_rng(0))
    assert fit.facts["rate"] == 0.1
    tried = {trial["settings"]["rate"]: trial["validation"] for trial in fit.facts["trials"]}
    assert tried[1e6] == np.inf > tried[0.1]
    alone = dataclasses.replace(model, rates=(1e6,))
    with pytest.raises(Diverged, match=r"diverged at triple 500 \(rate 1e\+06\)"):
        alone.fit(task, np.random.default_rng(0))


def test_many_threads_learn_as_well(task, monkeypatch):
    model = dataclasses.replace(SMALL, diagonal="none")
    assert_two_threads_learn_as_well(model, task, 200, monkeypatch)


def test_training_never_sees_test_links(task):
    """Other test and validation pairs, same training pairs: the same steps."""
    other = dataclasses.replace(task, test=task.valid)
    a, b = (SMALL.fit(t, np.random.default_rng(2)) for t in (task, other))
    np.testing.assert_array_equal(a.arrays["U"], b.arrays["U"])
    both = np.concatenate([task.train.rows, task.test.rows])
    leaky = dataclasses.replace(task, train=Pairs.of(both))
    c = SMALL.fit(leaky, np.random.default_rng(2))
    assert not np.array_equal(a.arrays["U"], c.arrays["U"])


def test_warm_start_maps_rows_by_word(corpus_dir, task, tmp_path):
    """The rows of words that both vocabularies have are copied, wherever they stand."""
    first = SMALL.fit(task, np.random.default_rng(0))
    build_task(corpus_dir, tmp_path / "small", words=60)
    small = open_task(tmp_path / "small")
    still = dataclasses.replace(SMALL, rates=(1e-12,), epoch=1, budget=1)
    second = still.fit(small, np.random.default_rng(9), start=first)
    old = {w: i for i, w in enumerate(task.queries.views["raw"].words)}
    for name in ("U", "V"):
        rows = [old[w] for w in small.queries.views["raw"].words]
        np.testing.assert_allclose(second.arrays[name], first.arrays[name][rows], atol=1e-9)
    with pytest.raises(ValueError, match="it has"):
        dataclasses.replace(still, tied=True).fit(small, np.random.default_rng(9), start=first)


def in_two_languages(task):
    """The task with documents of another language that has as many words."""
    view = task.queries.views["raw"]
    foreign = Vocabulary(view.words.series.reverse())
    other = TextView("ja", foreign, view.statistics, view.weighting)
    documents = Texts(
        task.documents.ids, task.documents.titles, task.documents.matrices, {"raw": other}
    )
    return dataclasses.replace(task, documents=documents)


def test_vocabularies_of_equal_size_are_not_confused(task):
    """A diagonal, or U'U, between two languages of equally many words is refused."""
    crossed = in_two_languages(task)
    assert crossed.queries.matrix("raw").shape == crossed.documents.matrix("raw").shape
    for model in (SMALL, dataclasses.replace(SMALL, diagonal="none", tied=True)):
        with pytest.raises(BadInput, match="needs the same words on both sides"):
            model.fit(crossed, np.random.default_rng(0))
    free = dataclasses.replace(SMALL, diagonal="none", budget=500)
    assert free.fit(crossed, np.random.default_rng(0)).arrays["V"].shape[1] == 8


def test_no_training_pair_is_bad_input(task):
    empty = dataclasses.replace(task, train=Pairs.of([]))
    with pytest.raises(BadInput, match="no training pair"):
        SMALL.fit(empty, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"form": "dense9"}, "form='dense9'"),
        ({"diagonal": "half"}, "diagonal='half'"),
        ({"dimensions": 0}, "dimensions=0"),
        ({"rates": ()}, "rates="),
    ],
)
def test_wrong_values_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Bilinear(**wrong)


def test_a_training_may_end_by_a_measure_of_the_head_of_the_list(task):
    seen = []
    model = dataclasses.replace(SMALL, stop_by="map", budget=3000, validation_queries=50)
    fit = model.fit(task, np.random.default_rng(0), watch=lambda s, m: seen.append((s, dict(m))))
    missing = [m["val/map_error"] for _, m in seen]
    assert fit.facts["validation_map_error"] == min(missing)
    assert fit.facts["best_at"] == seen[int(np.argmin(missing))][0]
    measured = Validator(task, "valid", 50).measures(fit)
    assert 1 - measured["map"] == pytest.approx(min(missing), abs=1e-6)
    assert seen[-1][1]["val/rank_loss"] < 0.06


def test_slates_end_a_training_by_rank_loss_alone():
    with pytest.raises(ValueError, match="stop_by='map': expected 'rank_loss'"):
        Bilinear(against="shown", stop_by="map")


def test_the_rate_falls_to_a_third(task):
    model = dataclasses.replace(SMALL, rates=(0.3,), patience=1, decays=2, budget=100_000)
    fit = model.fit(task, np.random.default_rng(0))
    assert fit.facts["decayed"] == 2
    once = dataclasses.replace(model, decays=0).fit(task, np.random.default_rng(0))
    assert fit.facts["triples"] > once.facts["triples"]


def test_after_it_fell_a_step_is_a_third_as_long(task):
    def step(*, slow):
        seed, options = 3, FitOptions()
        sgd = MapTraining(SMALL, task, {}, seed, options).begin(
            {"rate": 0.3, "margin": 5.0, "alpha": 1.0, "init_std": 0.1, "negatives_power": 0.0}
        )
        sgd.sweep(1)
        before = sgd.parameters.U.copy()
        if slow:
            sgd.slow()
        sgd.sweep(1)
        return sgd.parameters.U - before

    whole = step(slow=False)
    assert np.abs(whole).max() > 0
    np.testing.assert_allclose(3 * step(slow=True), whole, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"diagonal": "learned"},
        {"tied": True},
        {"adagrad": True, "decays": 2, "patience": 1},
    ],
    ids=str,
)
def test_marks_of_changed_rows_miss_none_and_change_no_bit(changes, task, tmp_path, monkeypatch):
    """Of large maps only rows of words of texts that were stepped with are looked at."""
    model = dataclasses.replace(SMALL, budget=3000, epoch=100, **changes)
    whole = model.fit(task, np.random.default_rng(0))
    missed, changed = [], Sgd.changed

    def checked(self):
        marks = changed(self)
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        for name, array in vars(self).get("before", {}).items():
            differ = (array != arrays[name]).reshape(len(array), -1).any(axis=1)
            if name in marks:
                missed.append((name, int((differ & ~marks[name]).sum())))
        self.before = arrays
        return marks

    monkeypatch.setattr(sgd, "_LARGE", 0)
    monkeypatch.setattr(Sgd, "changed", checked)
    marked = model.fit(task, np.random.default_rng(0), checkpoint=tmp_path / "state")
    names = {"U", "squares_U", "squares_V"} if model.adagrad else {"U"}
    assert names <= {name for name, _ in missed}
    assert not model.decays or marked.facts["decayed"]
    # A rate that falls begins with the best again: those rows differ as well.
    assert model.decays or {count for _, count in missed} == {0}
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, marked.arrays[name])


def test_a_schedule_by_time_is_a_fact_that_gives_the_same_bits(task):
    model = dataclasses.replace(SMALL, budget=4000, epoch=50, validation_time=0.2)
    fit = model.fit(task, np.random.default_rng(0))
    again = dataclasses.replace(model, epoch=fit.facts["epoch"], validation_time=None)
    same = again.fit(task, np.random.default_rng(0))
    assert "epoch" not in same.facts
    assert fit.facts["epoch"] % 50 == 0
    for name, array in fit.arrays.items():
        np.testing.assert_array_equal(array, same.arrays[name])


@pytest.mark.skipif(not converts_float16(), reason="no float16 on this processor")
@pytest.mark.parametrize("changes", [{"tied": False}, {"tied": True}, {"adagrad": True}], ids=str)
def test_float16_halves_a_model_that_learns_as_well(changes, task, tmp_path):
    whole = dataclasses.replace(SMALL, budget=3000, diagonal="none", **changes)
    model = dataclasses.replace(whole, storage="float16")
    wide, fit = (m.fit(task, np.random.default_rng(0)) for m in (whole, model))
    assert fit.arrays["U"].dtype == np.float16
    assert fit.arrays["U"].shape == wide.arrays["U"].shape
    assert 2 * fit.arrays["U"].nbytes == wide.arrays["U"].nbytes
    loss = [one.facts["validation_rank_loss"] for one in (fit, wide)]
    assert abs(loss[0] - loss[1]) < 0.001
    assert fit.facts["best_at"] > 0

    fit.save(tmp_path / "model")
    read = load_model(tmp_path / "model")
    np.testing.assert_array_equal(all_scores(read, task), all_scores(fit, task))
    words = read.dense_words(task.queries, "query")
    np.testing.assert_allclose(
        words.weights @ words.embedding, fit.embed_queries(task.queries).dense, atol=1e-5
    )


def test_values_are_carried_over_word_by_word():
    old, new = (SimpleNamespace(words=words.split()) for words in ("car moon sea", "oak sea car"))
    assert [rows.tolist() for rows in shared_words(old, new)] == [[2, 0], [1, 2]]


@pytest.mark.skipif(not converts_float16(), reason="no float16 on this processor")
def test_float16_goes_on_with_the_same_bits_and_starts_from_a_model(task, tmp_path):
    model = dataclasses.replace(SMALL, storage="float16", diagonal="learned")
    whole = model.fit(task, np.random.default_rng(5))

    def cut(step, metrics):
        if step == 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(task, np.random.default_rng(5), watch=cut, checkpoint=tmp_path / "state")
    again = model.fit(task, np.random.default_rng(5), checkpoint=tmp_path / "state")
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])
    still = dataclasses.replace(model, rates=(1e-12,), budget=10, epoch=10)
    same = still.fit(task, np.random.default_rng(6), start=whole)
    np.testing.assert_array_equal(same.arrays["U"], whole.arrays["U"])


def test_float16_is_refused_where_it_means_nothing_or_cannot_be_read(task, monkeypatch):
    with pytest.raises(ValueError, match="storage='float16' needs U and V"):
        Bilinear(form="zero", diagonal="learned", storage="float16")
    monkeypatch.setattr(low_rank, "converts_float16", lambda: False)
    with pytest.raises(BadInput, match="does not convert float16"):
        dataclasses.replace(SMALL, storage="float16").fit(task, np.random.default_rng(0))


def test_a_saved_model_with_settings_that_are_no_more_is_read(task, tmp_path):
    fit = dataclasses.replace(SMALL, budget=500).fit(task, np.random.default_rng(0))
    fit.save(tmp_path)
    parameters = json.loads((tmp_path / "model.json").read_text())["parameters"]
    reseal(
        tmp_path,
        "model.json",
        parameters=parameters | {"negatives_per_positive": 1, "hard_skip": 0},
    )
    assert load_model(tmp_path).model == fit.model


@pytest.mark.parametrize("stop_by", ["rank_loss", "map"])
def test_what_judges_a_training_goes_with_it(task, stop_by):
    """It holds scores and postings, and `Auto` has many trainings one after the other."""
    judges = []

    def validator(of, side, queries, threads):
        made = Validator(of, side, queries, threads=threads)
        judges.append(weakref.ref(made))
        return made

    gc.disable()
    try:
        model = Bilinear(view="sublinear", dimensions=4, budget=200, epoch=100, stop_by=stop_by)
        model.learn(task, np.random.default_rng(0), FitOptions(validator=validator))
        assert judges
        assert [judge() for judge in judges] == [None] * len(judges)
    finally:
        gc.enable()
