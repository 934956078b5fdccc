import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ssi_core.models import MODELS as of_guests
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.half_transductive import HalfTransductive
from ssi_core.models.bilinear.multi_task import MultiTask
from ssi_core.models.bilinear.word_pairs import WordPairs
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.latent.lsi import Lsi, LsiMixture
from ssi_core.models.latent.softmax import Softmax
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import open_task
from tests.models.test_every_model import ROWS, build

pytestmark = pytest.mark.trains

SHORT = {"rates": (0.1,), "budget": 40, "epoch": 20, "search_budget": 10}
OTHER_FORM = {"task": "monolingual", "query": "U_E", "document": "V_E"}

GUESTS = {
    "pca": {"dimensions": 100},
    "opca": {"dimensions": 100, "gammas": (0.1, 1.0)},
    "s2net": {"dimensions": 100, "budget": 2},
}
MODELS = [
    Bilinear(dimensions=200, **SHORT),
    Bilinear(dimensions=500, tied=True, diagonal="learned", **SHORT),
    Bilinear(dimensions=200, adagrad=True, **SHORT),
    Bilinear(dimensions=200, step="block", **SHORT),
    HalfTransductive(dimensions=500, functional_budget=20, **SHORT),
    MultiTask(dimensions=500, auxiliary=(OTHER_FORM,), **SHORT),
    *(of_guests[name](**settings) for name, settings in GUESTS.items() if name in of_guests),
    Softmax(dimensions=150, **SHORT),
    WordPairs(buckets=500_000, **SHORT),
    WordPairs(form="dense", diagonal="none", **SHORT),
    WordPairs(form="dense", diagonal="none", step="block", **SHORT),
]
AT_ONCE = {"softmax": 2}
"""States of a training that are on the disk at once: the last one, and that which replaces it."""


@pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: f"{model.name} {getattr(model, 'diagonal', '')}"
)
def test_a_fit_takes_no_more_than_was_said_and_not_much_less(model, task_dir, tmp_path):
    task = open_task(task_dir)
    task = replace(task, auxiliary={"monolingual": task})
    said = model.cost(task)
    model.fit(task, np.random.default_rng(0))  # compiles
    tracemalloc.start()
    model.fit(task, np.random.default_rng(0), checkpoint=tmp_path / "state")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak <= said.memory + 1_000_000
    assert said.memory <= 5 * peak
    disk = sum(file.stat().st_size for file in tmp_path.rglob("*.npy"))
    assert disk <= said.disk + 10_000
    assert said.disk <= AT_ONCE.get(model.name, 5) * disk + 10_000


def test_more_dimensions_and_both_parts_of_a_mixture_cost_more(task_dir):
    task = open_task(task_dir)

    def memory(model):
        return model.cost(task).memory

    assert memory(TfIdf()) == 0
    assert memory(Lsi(dimensions=10)) < memory(Lsi(dimensions=(10, 100)))
    assert memory(Lsi(dimensions=10)) < memory(LsiMixture(dimensions=10))
    parts = ({"model": "tfidf"}, {"model": "lsi", "dimensions": 10})
    assert memory(Lsi(dimensions=10)) < memory(Mixture(parts=parts))
    few, many = (memory(Softmax(dimensions=8, batch=batch)) for batch in (2000, 4000))
    assert many - few == 4 * (4000 * (4 * 4000 + 8 * 8) - 2000 * (4 * 2000 + 8 * 8))


def said_of(row, task):
    """Return what a row of the file says: bytes, those of each further thread, sizes of vectors."""
    model = build(row)
    one, two = (model.cost(task, threads) for threads in (1, 2))
    sizes = one.memory, one.disk, two.memory - one.memory, *model.vector_shape(task)
    triples = model.most_triples(task)
    return [row, *map(str, sizes), "-" if triples is None else str(triples)]


def hold(package, task):
    """Compare what the models of a package say on the task of 200 documents with the file."""
    kept = Path(__file__).with_name("costs.txt").read_text(encoding="utf-8").splitlines()[1:]
    estimates = {line[0]: line for line in (re.split(r"\s{2,}", line) for line in kept)}
    rows = [row for row in ROWS if type(build(row)).__module__.startswith(f"{package}.")]
    assert rows
    assert [said_of(row, task) for row in rows] == [estimates[row] for row in rows]


def test_estimates_are_those_of_the_file(task_dir):
    task = open_task(task_dir)
    task = replace(task, auxiliary=dict.fromkeys(("monolingual", "monolingual_queries"), task))
    hold("ssi_core", task)
