"""Models between two languages, and those of one language on translated queries."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models import MODELS, load_model
from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.multi_task import MultiTask
from ssi_core.models.bilinear.training import MapTraining, Training
from ssi_core.models.bilinear.word_pairs import WordPairs
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.latent.cl_lsi import ClLsi
from ssi_core.models.latent.softmax import Softmax, loss_and_gradients
from ssi_core.models.tfidf import TfIdf
from ssi_core.scoring.scorer import Scorer
from ssi_core.serving.searcher import texts_of
from ssi_core.tasks.task import open_task
from ssi_core.training.descend import SAMPLERS
from ssi_core.training.sgd import Sgd, excluded
from ssi_core.types import BadInput, Pairs
from tests.kernels.test_sweep import naive_splitmix
from tests.scores import all_scores
from tests.training.as_well import assert_two_threads_learn_as_well

pytestmark = pytest.mark.trains

SMALL = dict(dimensions=8, rates=(0.1,), epoch=500, budget=3000, margin=0.3, diagonal="none")
SOFTMAX = dict(dimensions=8, batch=32, rates=(0.01,), epoch=500, budget=2000)

AUXILIARY = {
    "V_E'V_E": {"task": "monolingual", "query": "V_E", "document": "V_E"},
    "U_E'V_E": {"task": "monolingual", "query": "U_E", "document": "V_E"},
    "U_F'U_F": {"task": "monolingual_queries", "query": "U_F", "document": "U_F"},
    "U_F'V_F": {"task": "monolingual_queries", "query": "U_F", "document": "V_F", "weight": 0.5},
}

# What any model of the kind reaches here, by far.
ROWS = {
    "bilinear": Bilinear(**SMALL),
    "multi_task": MultiTask(**SMALL),
    "multi_task U_E": MultiTask(**SMALL, auxiliary=(AUXILIARY["U_E'V_E"],)),
    "multi_task of three": MultiTask(
        **SMALL, auxiliary=(AUXILIARY["V_E'V_E"], AUXILIARY["U_F'U_F"])
    ),
    "cl_lsi": ClLsi(dimensions=8),
    "cl_lsi dot": ClLsi(dimensions=(4, 8), measure="dot"),
    "softmax": Softmax(**SOFTMAX),
    "tfidf dictionary": TfIdf(view="dictionary.raw"),
    "lsi dictionary": MODELS["lsi"](view="dictionary.raw", dimensions=8),
    "SSI dictionary": Bilinear(
        **SMALL | {"diagonal": "identity"}, view="dictionary.raw", learn_on="monolingual"
    ),
    "mixture": Mixture(
        parts=(
            {"model": "bilinear"} | SMALL,
            {"model": "tfidf", "view": "dictionary.raw"},
        )
    ),
    "word_pairs": WordPairs(
        form="dense", rates=(0.1,), epoch=500, budget=3000, margin=0.3, diagonal="none"
    ),
    "untitled": Bilinear(**SMALL, view="untitled.raw"),
}


@pytest.fixture(scope="module")
def link(mates_task_dirs):
    return open_task(mates_task_dirs["link"])


@pytest.fixture(scope="module")
def mate(mates_task_dirs):
    return open_task(mates_task_dirs["mate"])


@pytest.mark.parametrize("row", ROWS)
def test_finds_what_the_mate_links_to_and_reads_raw_text(row, link, tmp_path):
    fit = ROWS[row].fit(link, np.random.default_rng(3))
    report = evaluate(fit, link, tuples=500)
    assert report.means["rank_loss"] < 0.06
    fit.save(tmp_path)
    loaded = load_model(tmp_path)
    queries = texts_of(["ĵbirds1 ĵbirds2 ĵbirds3 ĵcommon1", ""], loaded.query_views)
    scores = Scorer(loaded.embed_documents(link.documents)).score(loaded.embed_queries(queries))
    best = np.argsort(-scores[0], kind="stable")[:5]
    assert np.count_nonzero(best % 8 == 1) >= 4
    assert not scores[1].any()


def test_a_diagonal_between_two_languages_is_refused(link):
    model = dataclasses.replace(ROWS["bilinear"], diagonal="identity")
    with pytest.raises(BadInput, match="same words on both sides"):
        model.fit(link, np.random.default_rng(0))
    model = dataclasses.replace(ROWS["bilinear"], tied=True)
    with pytest.raises(BadInput, match="same words on both sides"):
        model.fit(link, np.random.default_rng(0))
    model = dataclasses.replace(ROWS["bilinear"], learn_on="monolingual")
    with pytest.raises(BadInput, match="same words on both sides"):
        model.fit(link, np.random.default_rng(0))


def test_the_scratch_of_a_training_has_room_for_the_words_of_either_side(link):
    widths = [texts.matrix("raw").shape[1] for texts in (link.queries, link.documents)]
    assert widths[0] > widths[1]
    training = Training(ROWS["word_pairs"], link, 0, FitOptions())
    assert training.width == widths[0]


# --- CL-LSI --------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["cosine", "dot"])
def test_cl_lsi_is_the_svd_of_the_mates_side_by_side(measure, link):
    n = 8
    rows = link.auxiliary["mates"].train.rows
    Q, D = (texts.matrix("raw").toarray() for texts in (link.queries, link.documents))
    joined = np.hstack([Q[rows[:, 0]], D[rows[:, 1]]]).astype(np.float64)
    _, _, right = np.linalg.svd(joined, full_matrices=False)
    U, V = right[:n, : Q.shape[1]].T, right[:n, Q.shape[1] :].T
    a, b = Q @ U, D @ V
    if measure == "cosine":
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    fit = ClLsi(dimensions=n, measure=measure).fit(link, np.random.default_rng(0))
    # The factorisation is a randomised one.
    np.testing.assert_allclose(all_scores(fit, link), a @ b.T, atol=1e-5)


def test_cl_lsi_sees_no_mate_of_the_test(link):
    fit = ClLsi(dimensions=8).fit(link, np.random.default_rng(0))
    mates = link.auxiliary["mates"]
    unseen = dataclasses.replace(mates, test=Pairs.of(()), valid=Pairs.of(()))
    again = ClLsi(dimensions=8).fit(
        dataclasses.replace(link, auxiliary={"mates": unseen}), np.random.default_rng(0)
    )
    for name, array in fit.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])
    nothing = dataclasses.replace(mates, train=Pairs.of(()))
    with pytest.raises(BadInput, match="no mates"):
        ClLsi(dimensions=8).fit(
            dataclasses.replace(link, auxiliary={"mates": nothing}), np.random.default_rng(0)
        )


# --- the softmax ---------------------------------------------------------------------------------


def naive_loss(U, V, q, d, never, t):
    """From the definition, pair by pair."""
    a, b = (x @ W for x, W in ((q, U), (d, V)))
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    total, n = 0.0, len(a)
    for i in range(n):
        others = [j for j in range(n) if not never[i, j]]
        queries = [j for j in range(n) if not never[j, i]]
        own = np.exp(a[i] @ b[i] / t)
        total -= np.log(own / sum(np.exp(a[i] @ b[j] / t) for j in others)) / 2
        total -= np.log(own / sum(np.exp(a[j] @ b[i] / t) for j in queries)) / 2
    return total / n


def test_gradients_of_the_softmax_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    q, d = rng.random((6, 5)), rng.random((6, 4))
    U, V = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    never = rng.random((6, 6)) < 0.2
    np.fill_diagonal(never, False)
    said, gradients = loss_and_gradients(U, V, sparse.csr_array(q), sparse.csr_array(d), never, 0.3)
    assert said == pytest.approx(naive_loss(U, V, q, d, never, 0.3), rel=1e-5)
    for W, gradient in zip((U, V), gradients, strict=True):
        for position in np.ndindex(W.shape):
            ends = []
            for step in (1e-5, -1e-5):
                W[position] += step
                ends.append(naive_loss(U, V, q, d, never, 0.3))
                W[position] -= step
            slope = (ends[0] - ends[1]) / 2e-5
            assert gradient[position] == pytest.approx(slope, abs=1e-4)


def test_the_softmax_learns_and_starts_from_cl_lsi(mate):
    curve = []
    model = Softmax(**SOFTMAX | {"budget": 3000, "patience": 100})
    fit = model.fit(
        mate, np.random.default_rng(1), watch=lambda step, found: curve.append((step, found))
    )
    losses = [found["train/softmax"] for _, found in curve[1:]]
    assert losses[-1] < 0.7 * losses[0]
    start = ClLsi(dimensions=8).fit(mate, np.random.default_rng(1))
    valid = dataclasses.replace(model, budget=1, rates=(1e-9,)).fit(mate, np.random.default_rng(1))
    np.testing.assert_allclose(all_scores(valid, mate), all_scores(start, mate), atol=1e-4)
    again = model.fit(mate, np.random.default_rng(1))
    np.testing.assert_array_equal(fit.arrays["U"], again.arrays["U"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"temperature": 0}, "temperature"), ({"batch": 1}, "batch"), ({"rates": ()}, "rates")],
)
def test_values_that_no_softmax_could_follow(wrong, said):
    with pytest.raises(ValueError, match=said):
        Softmax(**wrong)


# --- multi-task ----------------------------------------------------------------------------------


THREE = [("V_E'V_E",), ("U_E'V_E",), ("V_E'V_E", "U_F'U_F"), ("U_E'V_E", "U_F'V_F")]


def begun(link, auxiliary):
    model = MultiTask(**SMALL, auxiliary=tuple(AUXILIARY[name] for name in auxiliary))
    others = {one["task"]: link.auxiliary[one["task"]] for one in model.auxiliary}
    settings = {"rate": 0.1, "margin": 0.3, "init_std": 0.1}
    training = MapTraining(model, link, others, 5, FitOptions()).begin(settings)
    objectives = [objective for (objective,) in model.groups()]
    return objectives, [link, *others.values()], training


def maps_of(objectives, training):
    """Name -> array, which is one and the same wherever it is named."""
    arrays = {}
    for objective, group in zip(objectives, training.groups.values(), strict=True):
        both = group.parameters.U, group.parameters.V
        for name, array in zip(objective.term[:2], both, strict=True):
            assert arrays.setdefault(name, array) is array
    return arrays


@pytest.mark.parametrize("auxiliary", THREE, ids=" ".join)
def test_objectives_take_turns_and_share_arrays_by_name(auxiliary, link):
    objectives, _, together = begun(link, auxiliary)
    arrays = maps_of(objectives, together)
    assert len({id(array) for array in arrays.values()}) == len(arrays)
    apart = begun(link, auxiliary)[-1]
    alone = [Sgd({"": group}, words=1000, threads=1, judge=None) for group in apart.groups.values()]
    measures = together.sweep(40)
    for _ in range(40):
        for sgd in alone:
            sgd.sweep(1)
    for name, array in maps_of(objectives, apart).items():
        np.testing.assert_array_equal(array, arrays[name])
    for name in together.groups:
        assert measures[f"train/{name}hinge"] > 0


@pytest.mark.parametrize("auxiliary", THREE, ids=" ".join)
def test_steps_agree_with_the_naive_twin(auxiliary, link):
    """Equations 9 and 10 with dense float64 matrices: a step of each objective in its turn."""
    objectives, tasks, training = begun(link, auxiliary)
    learnt = maps_of(objectives, training)
    maps = {name: np.array(array[:, :8], np.float64) for name, array in learnt.items()}
    naive = []
    for number, (objective, task) in enumerate(zip(objectives, tasks, strict=True)):
        texts = [
            t.matrix("raw").toarray().astype(np.float64) for t in (task.queries, task.documents)
        ]
        never = excluded(task).toarray()
        state = int(training.arrays[SAMPLERS][0, number, 0])
        naive.append([objective, task.train.rows, never, *texts, state])
    training.sweep(30)
    steps = 0
    for _ in range(30):
        for one in naive:
            objective, pairs, never, queries, documents, state = one
            state, z = naive_splitmix(state)
            q, p = pairs[((z >> 32) * len(pairs)) >> 32]
            while True:
                state, z = naive_splitmix(state)
                n = ((z >> 32) * len(documents)) >> 32
                if not never[q, n]:
                    break
            one[-1] = state
            A, B = (maps[name] for name in objective.term[:2])
            a, b = A.T @ queries[q], B.T @ (documents[p] - documents[n])
            if 0.3 - a @ b > 0:
                rate = 0.1 * objective.weight
                old = np.outer(queries[q], b), np.outer(documents[p] - documents[n], a)
                A += rate * old[0]
                B += rate * old[1]
                steps += 1
    assert steps > 20 * len(naive)
    for name, array in learnt.items():
        np.testing.assert_allclose(array[:, :8], maps[name], atol=1e-4)


def test_links_within_the_languages_help_where_pairs_are_few(link):
    few = SMALL | {"pairs": 0.03, "budget": 6000}
    three = MultiTask(**few, auxiliary=(AUXILIARY["V_E'V_E"], AUXILIARY["U_F'U_F"]))
    fits = [
        model.fit(link, np.random.default_rng(0))
        for model in (Bilinear(**few), MultiTask(**few), three)
    ]
    losses = [evaluate(fit, link, tuples=0).means["rank_loss"] for fit in fits]
    assert losses[1] < 0.8 * losses[0]
    assert losses[2] < 0.8 * losses[0]


def test_multi_task_learns_on_two_threads(link, monkeypatch):
    assert_two_threads_learn_as_well(ROWS["multi_task"], link, 200, monkeypatch)


def test_multi_task_goes_on_from_another(link):
    model = ROWS["multi_task"]
    one = model.fit(link, np.random.default_rng(3))
    still = dataclasses.replace(model, rates=(1e-12,), epoch=1, budget=1)
    again = still.fit(link, np.random.default_rng(9), start=one)
    for name in ("U", "V"):
        np.testing.assert_allclose(again.arrays[name], one.arrays[name], atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"auxiliary": ()}, "at least one objective"),
        ({"auxiliary": (AUXILIARY["V_E'V_E"], AUXILIARY["U_E'V_E"])}, "each on another task"),
        ({"auxiliary": ({**AUXILIARY["V_E'V_E"], "weight": 0.0},)}, "weight=0.0"),
        ({"auxiliary": ({**AUXILIARY["V_E'V_E"], "words": 3},)}, "an objective has task, query"),
        ({"auxiliary": ({"query": "V_E"},)}, "an objective has task, query"),
    ],
)
def test_what_multi_task_has_no_place_for_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        MultiTask(**SMALL | wrong)


def test_objectives_that_a_task_cannot_have_are_refused(link):
    english = MultiTask(**SMALL, auxiliary=({**AUXILIARY["V_E'V_E"], "task": "english"},))
    with pytest.raises(BadInput, match=r"auxiliary='english'.*mates, monolingual"):
        english.fit(link, np.random.default_rng(0))
    crossed = MultiTask(**SMALL, auxiliary=({**AUXILIARY["V_E'V_E"], "query": "U_F"},))
    with pytest.raises(BadInput, match="lets 'U_F' read other words"):
        crossed.fit(link, np.random.default_rng(0))


def test_learnt_on_another_task_it_is_that_tasks_model(link):
    model = ROWS["SSI dictionary"]
    fit = model.fit(link, np.random.default_rng(2))
    plain = dataclasses.replace(model, learn_on=None)
    other = plain.fit(link.auxiliary["monolingual"], np.random.default_rng(2))
    for name, array in fit.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name])
    assert fit.query_views["dictionary.raw"] is link.queries.views["dictionary.raw"]
