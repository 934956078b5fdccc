"""PostgreSQL with pgvector ranks as the model does, in PGlite and in a server."""

import re

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from ssi_core.guests.export.documents import Documents
from ssi_core.scoring.vectors import Inner
from ssi_core.types import BadInput
from tests.flows.pages import every_block
from tests.guests.export import test_engines
from tests.guests.export.postgres import SERVERS
from tests.guests.export.test_export import exported

K = test_engines.K
MODELS = (*test_engines.MODELS, "U'V", "D")
queries = test_engines.queries
HOSTILE = "it's \\ \"; DROP TABLE ssi; -- \0 ''"


def scripts(out):
    return [out / "schema.sql", *sorted((out / "rows").iterdir())]


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_pgvector_has_the_scores_of_the_models(models, task, queries, tmp_path, server):
    rounds = []
    for name in MODELS:
        encoder = test_engines.exported(models, name, task, tmp_path / name, "pgvector")
        index = [one for one in [tmp_path / name / "index.sql"] if one.exists()]
        asked = [("ssi_search", encoder.query(text, K)) for text in queries]
        # Documents come again, with the index there, and take the place of the former ones.
        files = [*scripts(tmp_path / name), *index, *scripts(tmp_path / name)[1:]]
        rounds.append((files, asked + [("ssi_nearest", value) for _, value in asked if index]))
    titles = dict(zip(task.documents.ids, task.documents.titles, strict=True))
    places = {id_: position for position, id_ in enumerate(task.documents.ids)}
    for name, answers in zip(MODELS, SERVERS[server](rounds), strict=True):
        best, scores = test_engines.best_of_model(models[name], task, queries)
        found = [[id_ for id_, *_ in rows] for rows in answers]
        if name != "D":  # of which many documents share no word with a query, and score alike
            share, first = test_engines.overlap(found, best * (len(found) // len(best)))
            assert share >= 0.99
            assert first >= 0.98
        assert len(found) == len(best) * (1 + (name == "U'V"))
        for rows, row in zip(answers, [*scores, *scores], strict=False):
            assert len(rows) == K
            assert all(title == titles[id_] for id_, title, _ in rows)
            ours = [row[places[id_]] for id_, *_ in rows]
            assert [score for *_, score in rows] == pytest.approx(ours, rel=1e-4, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_pgvector_keeps_any_title_and_answers_no_known_word(models, task, tmp_path, server):
    vectors = models["U'V + D"].embed_documents(task.documents.take(slice(0, 3)))
    titles = {"o'id": HOSTILE, "x" * 2600: "Café", "d2": ""}
    documents = of_texts(titles, Inner(vectors.sparse, vectors.dense))
    exported(models, task, tmp_path / "out", "pgvector", documents=documents)
    nothing = {"words": {"indices": [], "values": []}, "latent": [0.0] * 12, "k": 5}
    [[rows]] = SERVERS[server]([(scripts(tmp_path / "out"), [("ssi_search", nothing)])])

    assert {id_: title for id_, title, _ in rows} == titles | {"o'id": HOSTILE.replace("\0", "")}
    assert {score for *_, score in rows} == {0}


def test_the_page_prints_the_query_that_is_written(models, task, tmp_path):
    [printed] = (block.text for block in every_block("docs/export.md") if block.kind == "sql")
    exported(models, task, tmp_path / "out", "pgvector")
    written = (tmp_path / "out" / "schema.sql").read_text()
    assert plain(printed) in plain(written)


def plain(sql):
    return re.sub(r"\d{2,}", "N", " ".join(sql.split()))


def test_a_document_of_more_words_than_a_sparsevec_stores_is_refused(models, task, tmp_path):
    rows = sparse.csr_array(np.ones((1, 16_001), np.float32))
    documents = of_texts({"d0": "Long"}, Inner(rows, np.zeros((1, 12), np.float32)))
    with pytest.raises(BadInput, match="'d0' has 16,001 words, and pgvector stores 16,000"):
        exported(models, task, tmp_path / "out", "pgvector", documents=documents)


def of_texts(titles, vectors):
    frame = pl.DataFrame({"id": [*titles], "title": [*titles.values()]})
    return Documents(frame["id"], frame["title"], "made", vectors.take)
