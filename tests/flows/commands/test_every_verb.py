from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from flows.cli import cli
from ssi_core.command.library import GROUPS, _Group
from ssi_core.command.verb import Outcome, Verb, Verbs, run
from ssi_core.datasets.sources import Wikispeedia
from ssi_core.datasets.wikipedia.source import Wikipedia
from ssi_core.evaluation.hubs import hubs
from ssi_core.models import load_model
from ssi_core.tasks.task import open_task
from tests.datasets.test_smart import write
from tests.flows.project import PAGES, write_dump

pytestmark = pytest.mark.usefixtures("own_root")

RESULT = {"id", "title", "score", "url", "snippet", "marks", "related", "fields"}
DAILY = [
    *("fit", "search", "related", "explain", "why"),
    *("serve", "compare", "retrain", "up", "demo", "export", "site"),
]
HEAVY = ("prefect", "mlflow", "numba", "polars", "scipy", "numpy")


def subprocess_ssi(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


def test_help_is_immediate_and_fits_on_a_screen_of_80_columns():
    code = (
        "import sys\nfrom flows.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n"
        f"    loaded = [n for n in {HEAVY!r} if n in sys.modules]\n"
        "    print('loaded', loaded, 'code', end.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "COLUMNS": "80"},
    )
    *lines, loaded = done.stdout.splitlines()
    assert loaded == "loaded [] code 0"
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 42
    assert "..." not in "".join(lines[1:])
    assert lines[0].startswith("Usage: ssi fit ")
    groups = lines.index("Groups ('ssi GROUP --help' shows the order of the work):")
    daily = [line.split()[0] for line in lines[lines.index("Daily work:") + 1 : groups - 1]]
    assert daily == DAILY
    assert [line.split()[0] for line in lines[groups + 1 : groups + 5]] == list(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
def test_the_help_of_a_group_names_its_verbs_in_their_order(group, capsys):
    assert run(cli, [group, "--help"]) == 0
    text = capsys.readouterr().out
    assert "The order" in text
    described = text.partition("Options:")[0]
    for verb in cli.get_command(None, group).list_commands(None):
        assert re.search(rf"\b{verb}\b", described), verb
    assert "..." not in text.removeprefix(text.partition("\n")[0])


def test_a_verb_that_another_package_adds_is_listed_by_itself():
    more = {"mine": click.Command("mine", help="Do something else.")}
    group = _Group("data", help="The order:\n\n\b\n  ingest  read", verbs=more)
    text = group.get_help(click.Context(group, info_name="data"))

    assert re.search(r"^Further verbs:\n  mine +Do something else\.$", text, re.MULTILINE)
    assert text.count("ingest") == 1


def test_verbs_that_ask_neither_server_load_neither(project):
    code = (
        "import sys\nfrom flows.cli import main\n"
        f"search = ['search', {str(project / 'model')!r}, 'moon rocket']\n"
        "for command in (['lab', 'pipeline'], search):\n"
        "    try:\n        main(command)\n    except SystemExit as end:\n"
        "        assert not end.code, end.code\n"
        "print([name for name in ('mlflow', 'prefect', 'scipy.stats') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "[]"


def every_command(group=cli, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


@pytest.mark.parametrize("path", [path for path, _ in every_command()], ids=" ".join)
def test_every_help_teaches_with_examples_and_has_the_shared_options(path, capsys):
    assert run(cli, [*path, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Examples:\n  ssi {' '.join(path)}" in text
    for option in ("--json", "--threads", "--root", "--verbose"):
        assert option in text
    assert max(map(len, text.splitlines())) <= 100


def test_ingest_and_features_say_path_key_counts_skipped(ssi, tmp_path):
    dump = write_dump(tmp_path / "dump.xml.bz2")
    corpus = tmp_path / "corpus"
    code, found, log = ssi("data", "ingest", "wikipedia", dump, "--out", corpus, "--processes", "1")
    assert (code, set(found)) == (0, {"path", "key", "counts", "skipped"})
    assert found["path"] == str(corpus)
    assert found["counts"]["documents"] == PAGES
    assert log.splitlines()[0] == f"ssi: root {tmp_path / 'root'}"
    code, again, _ = ssi("data", "ingest", "wikipedia", dump, "--out", corpus, "--processes", "1")
    assert (code, again) == (0, found)

    code, task, _ = ssi("data", "features", corpus, "--out", tmp_path / "task", "--words", "all")
    assert (code, set(task)) == (0, {"path", "key", "counts", "skipped"})
    assert len(task["key"]) == 64
    code, error, log = ssi("data", "features", corpus, "--out", tmp_path / "task", "--words", "20")
    assert (code, error["error"]["kind"]) == (4, "refused")
    assert "--force" in log
    code, _, _ = ssi(
        "data", "features", corpus, "--out", tmp_path / "task", "--words", "20", "--force"
    )
    assert code == 0


def test_since_says_what_is_new_and_makes_the_same_corpus(ssi, tmp_path):
    dump = write_dump(tmp_path / "dump.xml.bz2")
    how = ("data", "ingest", "wikipedia", dump, "--processes", "1")
    _, first, _ = ssi(*how, "--out", tmp_path / "corpus")
    code, found, _ = ssi(*how, "--since", tmp_path / "corpus", "--out", tmp_path / "new")
    assert code == 0
    since = found["counts"].pop("since")
    assert since["kept"] == first["counts"]["pages"] > 0
    assert {since[name] for name in ("changed", "new", "gone")} == {0}
    assert {**found, "path": first["path"]} == first


def test_a_night_takes_pages_from_the_corpus_before_where_both_are_of_dumps(project, tmp_path):
    dump, other = Wikipedia(paths=("dump",)), Wikispeedia(paths=("games",))
    corpus = project / "corpus"
    assert dump.after(corpus).since == corpus
    named = dump.model_copy(update={"since": "named"})
    assert named.after(corpus) is named
    for source, before in ((other, corpus), (dump, tmp_path), (dump, project / "task")):
        assert source.after(before) is source


def test_keyword_queries_and_collections_have_their_options(ssi, tmp_path, project):
    how = ("--words", "all", "--queries-from", "words:3", "--query-draws", "2")
    code, task, _ = ssi("data", "features", project / "corpus", *how)
    assert code == 0
    drawn = task["counts"]["keywords"]
    asked = task["counts"]["queries"]
    assert drawn["queries"]["train"] == 2 * asked["train"]
    assert drawn["queries"]["test"] == asked["test"]

    write(tmp_path / "in", "1 1 1\n")
    code, corpus, _ = ssi("data", "ingest", "collection", tmp_path / "in")
    assert (code, corpus["counts"]["judgements"]) == (0, 1)
    code, error, _ = ssi("data", "features", corpus["path"])
    assert code == 3
    assert "1 of its queries have a relevant document" in error["error"]["message"]


def test_artefacts_without_a_place_lie_in_the_store(ssi, tmp_path, project):
    code, task, _ = ssi("data", "features", project / "corpus", "--words", "all")
    assert code == 0
    assert Path(task["path"]).parent == tmp_path / "root" / ".ssi" / "store" / "task"
    assert ssi("data", "features", project / "corpus", "--words", "all")[1] == task
    code, pooled, _ = ssi("data", "features", project / "corpus", "--words", "all", "--pool", 20)
    assert (code, pooled["path"] != task["path"]) == (0, True)
    assert len(open_task(Path(pooled["path"])).pool) == 20


def test_search_gives_id_title_score_best_first(ssi, project):
    code, found, _ = ssi("search", project / "model", "automobile", "-k", 5)
    assert (code, set(found)) == (0, {"results"})
    assert [set(hit) for hit in found["results"]] == [RESULT] * 5
    scores = [hit["score"] for hit in found["results"]]
    assert scores == sorted(scores, reverse=True)
    for hit in found["results"]:
        subsets = {hit["snippet"][start:end] for start, end in hit["marks"]}
        assert subsets <= {"automobile"}
        assert bool(subsets) == ("automobile" in hit["snippet"])
    # A page of the subject of cars has a number that 3 divides.
    assert {int(hit["title"].split()[1]) % 3 for hit in found["results"]} == {0}


def test_search_for_nothing_known_tells_a_person_what_to_do(project, capsys):
    assert run(cli, ["search", str(project / "model"), "xyzzy"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the model knows" in said
    assert "Check the spelling, or try other words" in said


def test_explain_parts_and_rest_are_the_score(ssi, project):
    hit = ssi("search", project / "model", "automobile road")[1]["results"][0]
    for document in (hit["id"], hit["title"]):
        code, found, _ = ssi("explain", project / "model", "automobile road", document, "-k", 3)
        assert (code, set(found)) == (0, {"score", "parts", "rest", "popularity", "features"})
        assert [set(part) for part in found["parts"]] == [
            {"query_word", "document_word", "part", "fields"}
        ] * 3
        total = sum(part["part"] for part in found["parts"]) + found["rest"]
        assert total == pytest.approx(found["score"], rel=1e-9)
        assert found["score"] == pytest.approx(hit["score"], rel=1e-4)


def test_why_names_the_place_and_what_holds_another_above(ssi, project, capsys):
    hits = ssi("search", project / "model", "automobile road")[1]["results"]
    last = hits[-1]
    code, found, _ = ssi("why", project / "model", "automobile road", last["title"], "-k", 1)
    assert (code, found["id"], found["rank"]) == (0, last["id"], len(hits))
    assert found["above"] == hits[0]["title"]
    assert found["needed"] == pytest.approx(hits[0]["score"], rel=1e-4)


def test_neighbours_are_words_of_the_subject(ssi, project):
    code, found, _ = ssi("lab", "neighbours", project / "model", "automobile", "-k", 3)
    assert code == 0
    assert [set(hit) for hit in found["results"]] == [{"asked", "id", "title", "score"}] * 3
    words = {"car", "engine", "wheel", "road", "driver", "motor", "vehicle"}
    assert {hit["title"] for hit in found["results"]} <= words


def test_index_then_search_with_it(ssi, project, tmp_path, capsys):
    built = (
        "data",
        "index",
        project / "tfidf",
        "--task",
        project / "task",
        "--out",
        tmp_path / "i",
    )
    code, found, _ = ssi(*built)
    assert (code, found["counts"]) == (0, {"documents": PAGES})
    plain = ssi("search", project / "tfidf", "moon")[1]
    assert all(hit["snippet"] for hit in plain["results"])
    assert ssi("search", project / "tfidf", "moon", "--index", tmp_path / "i")[1] == plain
    assert ssi(*built[:-1], tmp_path / "bare", "--without-texts")[0] == 0
    bare = ("search", project / "tfidf", "moon", "--index", tmp_path / "bare")
    results = ssi(*bare)[1]["results"]
    assert [hit["id"] for hit in results] == [hit["id"] for hit in plain["results"]]
    assert not any(hit["snippet"] or hit["url"] for hit in results)
    assert run(cli, [str(part) for part in bare]) == 0
    assert "keeps no texts" in capsys.readouterr().out


def test_evaluate_gives_every_measure_with_its_error(ssi, project):
    code, found, _ = ssi("lab", "evaluate", project / "model", "--task", project / "task")
    assert code == 0
    for name in ("rank_loss", "map", "mrr", "p_at_1", "p_at_10", "ndcg_at_10"):
        assert 0 <= found["metrics"][f"test/{name}"] <= 1
        assert found["metrics"][f"test/{name}_se"] >= 0


def test_evaluate_counts_hubs_where_it_is_asked_to(ssi, project):
    arguments = ("lab", "evaluate", project / "model", "--task", project / "task")
    assert "hubs" not in ssi(*arguments)[1]
    code, found, _ = ssi(*arguments, "--hubs")
    fitted, documents = load_model(project / "model"), open_task(project / "task").documents
    vectors = fitted.embed_documents(documents)
    assert code == 0
    for similarity, skewness in found["hubs"].items():
        assert skewness == pytest.approx(hubs(vectors, similarity=similarity).skewness)
    assert set(found["hubs"]) == {"cosine", "dot"}


def test_doctor_finds_this_machine(ssi):
    code, found, _ = ssi("ops", "doctor")
    assert code == 0
    assert found["python"] == sys.version.split()[0]
    assert found["cores"] >= 1
    assert {"numpy", "prefect", "mlflow"} <= set(found["versions"])
    assert isinstance(found["missing"], list)


def test_what_a_person_reads_is_at_most_100_columns(project, capsys):
    for arguments in (
        ["ops", "doctor"],
        ["search", str(project / "model"), "automobile"],
        ["search", str(project / "model"), "xyzzy"],
        ["explain", str(project / "model"), "automobile", "Page 3"],
        ["lab", "neighbours", str(project / "model"), "car"],
        ["lab", "evaluate", str(project / "model"), "--task", str(project / "task")],
        ["data", "features", str(project / "corpus"), "--out", str(project / "task")],
    ):
        assert run(cli, arguments) == 0
        out = capsys.readouterr().out
        assert out.strip()
        assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["lab", "neighbours", "{tfidf}", "car"], 3, "equal words only"),
        (["data", "ingest", "collection", "no-such-directory"], 3, "no test collection is there"),
        (["lab", "pipeline", "demo", "--corpus", "a", "--task", "b"], 2, "--corpus"),
        (["search", "{model}"], 2, "TEXT"),
    ],
)
def test_bad_use_and_bad_input_have_their_codes_and_one_clear_line(
    arguments, code, said, ssi, project
):
    names = {name: str(project / name) for name in ("model", "tfidf", "task", "corpus")}
    found, value, log = ssi(*(argument.format(**names) for argument in arguments))
    assert found == code
    assert value["error"]["kind"] == {2: "usage", 3: "bad input"}[code]
    assert said in value["error"]["message"]
    assert "Traceback" not in log
    assert said in log


@click.group(cls=Verbs)
def noisy() -> None: ...


@noisy.command(cls=Verb)
@click.option("--fail", is_flag=True)
def verb(fail: bool) -> Outcome:
    print("a library prints")
    if fail:
        raise ZeroDivisionError("by\nzero")
    return Outcome({"word": "日本"}, lambda console: console.print("read me"))


def test_standard_output_is_for_the_outcome_alone(capsys):
    assert run(noisy, ["verb", "--json"]) == 0
    out, log = capsys.readouterr()
    assert out == '{"word": "日本"}\n'
    assert "a library prints" in log
    assert run(noisy, ["--json", "verb"]) == 0
    assert capsys.readouterr().out == '{"word": "日本"}\n'
    assert run(noisy, ["verb"]) == 0
    assert "read me" in capsys.readouterr().out


def test_an_unexpected_failure_is_one_line_and_verbose_shows_where(capsys):
    assert run(noisy, ["verb", "--fail", "--json"]) == 1
    out, log = capsys.readouterr()
    assert json.loads(out)["error"] == {"kind": "failed", "message": "ZeroDivisionError: by zero"}
    assert "Traceback" not in log
    assert run(noisy, ["verb", "--fail", "--verbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_real_process_writes_one_object_and_ends_with_the_code(project):
    done = subprocess_ssi("search", str(project / "model"), "car", "--json", SSI_ROOT=str(project))
    assert done.returncode == 0
    assert json.loads(done.stdout)["results"]
    assert done.stderr == f"ssi: root {project}\n"
    done = subprocess_ssi("data", "features", "nothing", "--json", SSI_ROOT=str(project))
    assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (3, "bad input")


def test_help_has_a_short_name_whoever_asked_first(capsys):
    verb = cli.verbs["compare"]
    verb.get_params(click.Context(verb))
    assert run(cli, ["compare", "-h"]) == 0
