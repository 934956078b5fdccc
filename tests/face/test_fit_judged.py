"""`fit` with judged queries beside documents, and with stems."""

import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.command.failures import BAD_INPUT, DONE
from ssi_core.face.fit_tasks import with_judgements, with_stems
from ssi_core.types import BadInput
from tests.fielded import word

pytestmark = pytest.mark.trains
N = 80


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pages that link to the next two, and queries of a word of a page, in files."""
    path = tmp_path_factory.mktemp("judged")
    (path / "site").mkdir()
    for n in range(N):
        links = " ".join(f"[{word(n)} {k}](p{(n + k) % N}.md)" for k in (1, 2))
        text = f"# Page {n}\n\n{word(n)} {word(1000 + n)} {word(n // 2)} {links}\n"
        (path / "site" / f"p{n}.md").write_text(text)
    asked = range(0, N, 2)
    queries = {"id": [f"q{n}" for n in asked], "query": [word(1000 + n) for n in asked]}
    pl.DataFrame(queries).write_csv(path / "q.tsv", separator="\t")
    (path / "r.qrels").write_text("".join(f"q{n} 0 p{n}.md 1\n" for n in asked))
    return path


def test_the_search_box_is_tested_on_judged_queries_and_related_pages_on_links(folder, tmp_path):
    rows = (f"q{n},p{n}.md,1\n" for n in range(0, N, 2))
    (tmp_path / "r.csv").write_text("topic,page,mark\n" + "".join(rows))
    files = {"queries": folder / "q.tsv", "qrels": str(tmp_path / "r.csv")}
    files["columns"] = {"query": "topic", "document": "page", "grade": "mark"}
    fitted = ssi.fit(folder / "site", **files, auto=False, budget=500)
    assert fitted.asked == "Search: judged queries"
    assert len(fitted.model.folds_) == 5
    assert fitted.related.asked.startswith("Related documents")
    # A word that one page has is found, and every query was tested once.
    means = dict(fitted.comparison.frame.select("ranker", "map").iter_rows())
    assert means[fitted.comparison.baseline] > 0.9
    assert fitted.comparison.against(fitted.label, "map").queries == N // 2
    index = fitted.save(tmp_path / "model")
    assert [hit.id for hit in index.search(word(1006), k=1)] == ["p6.md"]
    assert list(index.related("p6.md"))
    loaded = ssi.load(tmp_path / "model")
    assert loaded.fitted_.facts["triples"]


def test_queries_go_with_documents_that_are_read_already(folder):
    docs = ssi.read(folder / "site")
    queries = pl.read_csv(folder / "q.tsv", separator="\t")
    rows = [(f"q{n}", f"p{n}.md", 1) for n in range(0, N, 2)]
    fitted = ssi.fit(docs, queries=queries, qrels=rows, auto=False, budget=500, ask="judgement")
    assert fitted.related is None
    assert fitted.task.artefact.configuration["relevant"] == "judgement"
    with pytest.raises(BadInput, match=r"2 of its queries have a relevant document.*Judge more"):
        ssi.fit(docs, queries=queries, qrels=rows[:2], ask="judgement")
    grades = {name: {document: grade} for name, document, grade in rows}
    again = with_judgements(docs, dict(queries.select("id", "query").iter_rows()), grades, {})
    assert again.counts == fitted.documents.counts
    with pytest.raises(BadInput, match="a task is made already, and queries go with documents"):
        ssi.fit(fitted.task, queries=queries, qrels=rows)


def test_the_verb_takes_the_files(folder, call, tmp_path):
    judged = ("--queries", folder / "q.tsv", "--qrels", folder / "r.qrels")
    little = ("--defaults", "--budget", 500, "--out", tmp_path / "model")
    code, value = call(folder / "site", *judged, "--stems", "yes", *little)
    assert code == DONE
    assert len(value["choices"]) == 5
    configuration = ssi.Task.open(value["task"]).artefact.configuration
    assert (configuration["relevant"], configuration["stems"]) == ("judgement", True)
    related = ssi.Task.open(value["related"]["task"]).artefact.configuration
    assert (related["relevant"], related["stems"]) == ("link", True)
    # With --defaults, too, a sentence says what was learned.
    for one, name in ((value, "BM25F + SSI is"), (value["related"], "SSI is")):
        assert one["verdict"].startswith(name)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--queries", "{place}/q.tsv"], "give both (--queries and --qrels)"),
        (["--qrels", "{place}/r.qrels"], "qrels"),
        (["--queries", "{place}/q.tsv", "--qrels", "{place}/q.tsv"], "given twice"),
        (
            ["--queries", "{place}/q.tsv", "--qrels", "{place}/r.qrels", "--query-type", "titles"],
            "--query-type titles: judged queries are not asked. Leave one out.",
        ),
    ],
)
def test_wrong_use_is_explained(folder, call, tmp_path, words, why):
    words = [word.format(place=folder) for word in words]
    code, value = call(folder / "site", *words, "--out", tmp_path / "model")
    assert (code, why in value["error"]["message"]) == (BAD_INPUT, True), value


def pages(forms):
    """Documents that are linked to in one form of a word and have another one."""
    rows = [{"id": f"d{n}", "text": f"{word(n)}{forms[0]} and more"} for n in range(300)]
    links = {
        "source": [f"d{(n + 1) % 300}" for n in range(300)],
        "target": [f"d{n}" for n in range(300)],
        "anchor": [f"{word(n)}{forms[1]}" for n in range(300)],
    }
    return ssi.read(rows, links=pl.DataFrame(links), language="en")


@pytest.mark.parametrize(("forms", "stems"), [(("tions", "tion"), True), (("", ""), False)])
def test_stems_are_taken_where_validation_is_clearly_better_with_them(forms, stems):
    docs = pages(forms)
    task = with_stems(lambda one: ssi.Task.of(docs, "anchor", stems=one), None, "mrr")
    assert task.artefact.configuration["stems"] is stems


def test_judged_folds_and_other_languages_are_read_as_they_are(folder):
    docs = ssi.read(
        [{"id": f"d{n}", "text": f"{word(n)} ein Haus"} for n in range(60)], language="de"
    )
    task = with_stems(
        lambda one: ssi.Task.of(docs, "self", queries="words:1", stems=one), None, "mrr"
    )
    assert not task.artefact.configuration["stems"]
