"""Mates from the command line, and from the flow."""

import pytest

from ssi_core.collection import open_collection
from ssi_core.sample.encyclopedia import write_sample
from ssi_core.types import BadInput
from tests.datasets.kyoto import release


@pytest.fixture
def ssi(ssi, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    return ssi


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sample")
    write_sample(directory, documents=40, seed=1)
    return directory


def test_mates_of_both_editions_of_the_sample(ssi, sample, tmp_path):
    for language in ("ja", "en"):
        (dump,) = sample.glob(f"{language}wiki-*.xml.bz2")
        place = ("--out", tmp_path / language, "--processes", "1")
        assert ssi("data", "ingest", "wikipedia", dump, *place)[0] == 0
    (table,) = sample.glob("*langlinks.sql.gz")
    corpora = ("--corpora", tmp_path / "ja", tmp_path / "en")
    given = ("--dictionary", sample / "dictionary.tsv")
    code, found, _ = ssi("data", "ingest", "mates", "--langlinks", table, *corpora, *given)
    assert code == 0
    assert found["counts"]["dictionary_entries"] > 1700
    assert found["counts"]["translations"] == found["counts"]["links_found"] > 10
    assert open_collection(tmp_path / found["path"]).sides == ("queries", "documents")
    assert ssi("data", "ingest", "mates", "--langlinks", table, *corpora, *given)[1] == found


def test_mates_of_the_kyoto_articles(ssi, tmp_path):
    there = release(tmp_path / "in")
    code, found, _ = ssi("data", "ingest", "kyoto", there, "--out", tmp_path / "out")
    assert (code, found["counts"]["title_mentions"]) == (0, 3)
    assert found["skipped"]["malformed"]["GNM/GNM00155.xml"].startswith("line 2, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--corpora", "a", "b"), "ssi data ingest kyoto DIRECTORY"),
        (("--wikitext", "a", "--wikidata", "b", "--corpora", "c", "d"), "one of --langlinks"),
        (("--wikidata", "b"), "--corpora"),
        (("--kyoto", "a"), "No such option"),
    ],
)
def test_options_that_do_not_go_together(ssi, arguments, message):
    code, _, log = ssi("data", "ingest", "mates", *arguments)
    assert code == 2
    assert message in log


@pytest.mark.flow
def test_the_flow_makes_the_sample_and_both_corpora(flow_runs, tmp_path):
    from flows.ingest import MatesSettings, ingest_mates

    settings = MatesSettings(documents=40, seed=1, processes=1)
    path = ingest_mates(settings)
    mates = open_collection(path)
    assert mates.artefact.counts["translations"] > 10
    assert mates.dictionary is not None
    assert ingest_mates(settings) == path

    out = str(tmp_path / "kyoto")
    kyoto = MatesSettings(source="kyoto", paths=[str(release(tmp_path / "in"))], out=out)
    assert ingest_mates(kyoto) == out
    assert open_collection(out).artefact.counts["translations"] == 3
    with pytest.raises(BadInput, match="corpora"):
        ingest_mates(MatesSettings(source="mates", langlinks="links.sql.gz"))
    with pytest.raises(BadInput, match="'sample-mates': no setting 'paths'"):
        ingest_mates(MatesSettings(paths=["kyoto-ja-en"]))
