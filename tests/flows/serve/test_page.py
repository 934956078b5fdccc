"""`ssi serve` as a command: its page in a browser, and what outlives it."""

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest

from flows.servers.server import free_port
from ssi_core.models.base import FittedModel
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.known import fingerprints
from ssi_core.models.tfidf import TfIdf
from ssi_core.serving.index import build_index
from ssi_core.views.lexicon import Vocabulary
from ssi_core.views.statistics import Statistics
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting
from tests.flows.browser import CHROMIUM, Browser
from tests.flows.services import BILINEAR, TFIDF, write_model
from tests.serving.models import TEXTS, documents, write_parts

pytestmark = pytest.mark.slow

JAPANESE = ("京都の寺と庭", "東京の電車", "寺の鐘")
HOSTILE = "<img src=x onerror=alert(1)> </p><script>alert(1)</script> & &lt;b&gt;"
JAVASCRIPT, ADDRESS = "javascript:alert(1)//https://example.org", "https://example.org/京都?a=1&b=2"


def write_japanese(directory):
    words = pl.Series("word", ["京都", "寺", "庭", "東京", "電車", "鐘"])
    statistics = Statistics(np.ones(len(words), np.float32), 100, 10.0)
    view = TextView("ja", Vocabulary(words), statistics, Weighting("counts")).named("raw")
    fitted = FittedModel(TfIdf(), {}, {"raw": view}, {"raw": view})
    fitted.save(directory / "model")
    texts, urls = [f"{one}。{HOSTILE}" for one in JAPANESE], [JAVASCRIPT, ADDRESS, None]
    parts = write_parts(directory / "texts", texts, urls)
    index = directory / "index"
    build_index(fitted, documents({"raw": view}, JAPANESE), index, parents={}, texts=parts)
    return directory


@contextlib.contextmanager
def command(*arguments, root):
    """A running `ssi serve` and its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    serve = [sys.executable, "-m", "flows.cli", "serve", *map(str, arguments)]
    with subprocess.Popen(
        [*serve, "--port", str(port), "--root", str(root)],
        cwd=Path(__file__).parents[3],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            said = ""
            while address not in said:
                line = process.stderr.readline()
                assert line, said
                said += line
            yield process, address
        finally:
            process.kill()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    return write_model(BILINEAR, path / "learnt"), write_japanese(path / "japanese")


@pytest.fixture(scope="module")
def address(models, tmp_path_factory):
    served, beside = models
    with command(served, "--second-model", beside, root=tmp_path_factory.mktemp("root")) as (
        _,
        address,
    ):
        yield address


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with Browser() as browser:
        yield browser


TITLES = "[...document.querySelectorAll('section:first-child .title')].map((t) => t.textContent)"


def test_a_person_types_reads_and_asks_why(browser, address):
    browser.size(1200, 900)
    browser.open(address)
    browser.wait("!at('lang').hidden")
    browser.type("car moon")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('.hit').length")
    asked = httpx.get(f"{address}/search", params={"q": "car moon"}).json()["results"]
    assert browser.run(TITLES) == [hit["title"] for hit in asked]
    browser.press("ArrowDown")
    browser.press("Enter")
    browser.wait("document.querySelector('table')")
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    words = browser.run("document.querySelector('tbody').innerText")
    asked = {"q": "car moon", "document": asked[0]["id"], "k": 8}
    for part in httpx.get(f"{address}/explain", params=asked).json()["parts"]:
        assert part["document_word"] in words
    browser.press("Enter")
    browser.wait("!document.querySelector('table')")
    browser.press("/")
    assert browser.run("document.activeElement.id") == "q"
    browser.wait("document.querySelectorAll('.word').length")
    related = browser.run("document.querySelector('.word').textContent")
    browser.run("document.querySelector('.word').click()")
    browser.until(lambda: f"q={related}" in browser.address(), "the address of the related word")
    browser.run("history.back()")
    browser.wait("document.title.startsWith('car moon')")
    assert browser.run("new URLSearchParams(location.search).get('q')") == "car moon"
    assert not browser.errors


def test_a_person_is_offered_the_word_that_was_meant(browser, address):
    browser.open(f"{address}/?ui=en&q=autmobile%20moon")
    browser.wait("document.querySelectorAll('section .word').length")
    said = browser.run("document.querySelector('section .word').parentNode.textContent")
    assert said == "No text has the word “autmobile”. Did you mean automobile"
    browser.run("document.querySelector('section .word').click()")
    browser.until(lambda: "q=automobile+moon" in browser.address(), "the address of what was meant")
    browser.wait("!document.querySelectorAll('section:first-child .soft .word').length")
    assert not browser.errors


def test_a_person_is_told_what_was_searched_without_accents(browser, address):
    browser.open(f"{address}/?ui=en&q=m%C3%B6on")
    browser.wait("document.querySelectorAll('section:first-child .title').length")
    said = browser.run("document.querySelector('section p.soft').textContent")
    assert said == "No text has the word “möon”. These are results for “moon”."
    assert not browser.errors


def test_a_person_asks_in_japanese_on_a_phone(browser, address):
    browser.size(390, 844, dark=True)
    browser.open(f"{address}/?ui=ja&lang=ja&q=京都の寺")
    browser.wait("document.querySelectorAll('.hit').length")
    assert browser.run("document.documentElement.lang") == "ja"
    assert browser.run("at('go').textContent") == "検索"
    assert browser.run("document.querySelectorAll('section:last-child .hit').length") == 2
    assert browser.run("document.documentElement.scrollWidth") == 390
    browser.run("document.querySelector('section:last-child .hit').click()")
    browser.wait("document.querySelector('table')")
    assert "寺" in browser.run("document.querySelector('tbody').innerText")
    assert browser.run("document.documentElement.scrollWidth") == 390
    browser.run("at('tongue').click()")
    assert browser.run("at('go').textContent") == "Search"
    assert not browser.errors


def test_a_result_shows_its_text_as_text_and_only_addresses_of_the_web_as_links(browser, address):
    browser.size(1200, 900)
    browser.open(f"{address}/?ui=en&lang=ja&q=京都の東京")
    browser.wait("document.querySelectorAll('section:last-child .text').length == 2")
    texts = "[...document.querySelectorAll('section:last-child .text')].map((t) => t.innerText)"
    shown = browser.run(texts)
    assert sum(HOSTILE in text for text in shown) == 2
    marks = "[...document.querySelectorAll('section:last-child mark')].map((m) => m.innerText)"
    assert sorted(browser.run(marks)) == ["京都", "東京"]
    links = (
        "[...document.querySelectorAll('section:last-child a')]"
        ".map((a) => [a.closest('.title').innerText, decodeURI(a.href), a.rel])"
    )
    assert browser.run(links) == [["Automobile", ADDRESS, "noopener noreferrer"]]
    addresses = (
        "[...document.querySelectorAll('section:last-child .address')].map((a) => a.innerText)"
    )
    assert browser.run(addresses) == [ADDRESS]
    assert browser.run("document.querySelectorAll('main img, main script').length") == 0
    assert not browser.errors


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__", "xx", ""])
def test_no_parameter_of_the_address_breaks_the_page(browser, address, name):
    browser.size(1200, 900)
    browser.open(f"{address}/?ui={name}&lang={name}&k={name}&model={name}&q=car moon")
    browser.wait("document.querySelectorAll('.hit').length")
    assert browser.run("document.documentElement.lang") == "en"
    assert browser.run("at('go').textContent") == "Search"
    assert browser.run("at('lang').value") == browser.run("at('lang').options[0].value")
    assert not browser.errors


def test_going_back_to_the_start_clears_the_results(browser, address):
    browser.size(390, 844)
    browser.open(f"{address}/?ui=en")
    browser.wait("!at('lang').hidden")
    browser.type("car moon")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('.hit').length")
    browser.run("history.back()")
    browser.wait("!document.querySelectorAll('.hit').length")
    assert browser.run("at('q').value") == ""
    assert browser.run("document.title") == "ssi"


def test_the_empty_page_offers_queries_of_the_collection(browser, address):
    browser.open(f"{address}/?ui=en")
    browser.wait("!at('words').hidden")
    offered = browser.run("[...document.querySelectorAll('.word')].map((w) => w.textContent)")
    assert offered == httpx.get(f"{address}/healthz").json()["models"][0]["examples"]
    browser.run("document.querySelector('.word').click()")
    browser.wait("document.querySelectorAll('.hit').length")
    assert browser.run("at('q').value") == offered[0]
    assert not browser.errors


def test_words_that_the_model_relates_to_the_query_are_marked_apart(browser, tmp_path):
    texts = write_parts(tmp_path / "texts", TEXTS, [None] * 6)
    served = write_model(BILINEAR, tmp_path / "served", texts)
    with command(served, root=tmp_path / "root") as (_, place):
        browser.open(f"{place}/?ui=en&q=car")
        browser.wait("document.querySelectorAll('.hit').length")
        marks = "[...document.querySelectorAll('mark')].map((m) => [m.textContent, m.className])"
        shown = browser.run(marks)
        asked = {"q": "car", "k": 10, "related": True}
        expected = [
            [hit["snippet"][start:end], "near" if beside else ""]
            for hit in httpx.get(f"{place}/search", params=asked).json()["results"]
            for start, end, beside in sorted(
                [*((*m, False) for m in hit["marks"]), *((*m, True) for m in hit["related"])]
            )
        ]
        assert shown == expected
        assert {kind for _, kind in shown} == {"", "near"}
        assert not browser.errors


def test_the_page_names_its_models(browser, address):
    browser.open(f"{address}/?q=car moon")
    browser.wait("document.querySelectorAll('.hit').length")
    heads = browser.run("[...document.querySelectorAll('h2')].map((h) => h.firstChild.data)")
    assert heads == ["SSI (learnt)", "TF-IDF (japanese)"]
    shown = browser.run("document.body.innerText")
    assert [shown.count(head) for head in heads] == [1, 1]
    assert "bilinear" not in shown
    assert [model["title"] for model in httpx.get(f"{address}/healthz").json()["models"]] == heads


def test_a_person_leaves_links_out(browser, address, models, tmp_path):
    browser.open(f"{address}/?q=car moon")
    browser.wait("document.querySelectorAll('.hit').length")
    assert browser.run("at('popular').hidden"), "no model there counts links"
    popular = write_model(popular_model(), tmp_path / "popular")
    with command(popular, root=tmp_path / "root") as (_, place):
        browser.open(f"{place}/?ui=en&q=car moon")
        browser.wait("document.querySelectorAll('.hit').length")
        assert not browser.run("at('popular').hidden")
        for on in (True, False):
            asked = {"q": "car moon", "popularity": on}
            expected = httpx.get(f"{place}/search", params=asked).json()["results"]
            titles = [hit["title"] for hit in expected]
            browser.until(lambda titles=titles: browser.run(TITLES) == titles, "the results")
            assert ("popularity=false" in browser.address()) is not on
            browser.run("document.querySelector('.hit').click()")
            browser.wait("document.querySelector('table')")
            score = browser.run("document.querySelector('tfoot tr:last-child .number').innerText")
            assert float(score) == pytest.approx(expected[0]["score"], abs=1e-3)
            browser.run("at('links').click()")
        assert not browser.errors


def popular_model():
    """Words and links, of which the last document has most."""
    parts = ({"model": "tfidf"}, {"model": "in_degree"})
    own = documents(dict(TFIDF.document_views))
    order = np.argsort(prints := fingerprints(own))
    links = np.arange(1, len(prints) + 1, dtype=np.int32)[order]
    arrays = {"part_2_known": prints[order], "part_2_links": links, "beta": np.array([9.0], "f4")}
    views = TFIDF.document_views
    return FittedModel(Mixture(parts), arrays, views, views)


def test_a_person_reads_a_summary(browser, address):
    text = "An engine of a car turns. <b>A planet turns around a road.</b>"
    new = {"id": "s1", "title": "Turning", "text": text}
    httpx.post(f"{address}/documents", json={"documents": [new]})
    browser.open(f"{address}/?q=car+engine&summary=80")
    browser.wait("document.querySelectorAll('.summary').length")
    shown = browser.run("[...document.querySelectorAll('.summary')].map((p) => p.textContent)")
    assert any("An engine of a car turns." in line and "Turning" in line for line in shown)
    assert not browser.run("document.querySelectorAll('.summary b').length")
    browser.run("at('summary').click()")
    browser.wait("!document.querySelectorAll('.summary').length")
    httpx.delete(f"{address}/documents", params={"id": "s1"})
    assert not browser.errors


def test_a_person_sees_related_documents_and_fields_at_a_result(browser, tmp_path):
    texts = write_parts(tmp_path / "texts", TEXTS, [ADDRESS, JAVASCRIPT, *[None] * 4])
    served = write_model(TFIDF, tmp_path / "served", texts)
    write_model(BILINEAR, served / "related", texts)
    with command(served, root=tmp_path / "root") as (_, place):
        for width in (1200, 390):
            browser.size(width, 900)
            browser.open(f"{place}/?ui=en&q=car engine")
            browser.wait("document.querySelectorAll('.foot').length")
            asked = {"q": "car engine"}
            (first, *_) = httpx.get(f"{place}/search", params=asked).json()["results"]
            foot = browser.run("document.querySelector('.foot').innerText")
            assert foot.split("\n") == [
                "Related documents",
                "found in " + ", ".join(first["fields"]),
            ]
            browser.run("document.querySelector('.foot button').click()")
            browser.wait("document.querySelector('.related li')")
            asked = {"document": first["id"], "k": 5}
            expected = httpx.get(f"{place}/related", params=asked).json()["results"]
            titles = (
                "[...document.querySelectorAll('.related li')].map((i) => i.firstChild.textContent)"
            )
            assert browser.run(titles) == [hit["title"] for hit in expected]
            links = "[...document.querySelectorAll('.related a')].map((a) => a.href)"
            assert len(browser.run(links)) == sum(hit["url"] == ADDRESS for hit in expected)
            assert browser.run("document.documentElement.scrollWidth") <= width
            browser.run("document.querySelector('.hit').click()")
            browser.wait("document.querySelector('.why td small')")
            assert browser.run("document.querySelector('.why td small').textContent") == "text"
            browser.run("document.querySelector('.foot button').click()")
            browser.wait("!document.querySelector('.related')")
            assert browser.run("!!document.querySelector('.why')")
        assert not browser.errors


def test_texts_of_documents_are_no_markup(browser, address):
    bad = {"id": "<b>", "title": "<img src=x onerror=alert(1)>", "text": "moon " * 9}
    httpx.post(f"{address}/documents", json={"documents": [bad]}).raise_for_status()
    browser.open(f"{address}/?q=moon")
    browser.wait("document.querySelectorAll('.hit').length")
    assert bad["title"] in browser.run(TITLES)
    assert browser.run("document.images.length") == 0
    assert not browser.errors


def test_documents_outlive_a_killed_service_and_it_ends_in_peace(models, tmp_path):
    new = {"id": "n", "title": "New", "text": "car"}
    with command(models[0], root=tmp_path) as (process, address):
        httpx.post(f"{address}/documents", json={"documents": [new]}).raise_for_status()
        process.kill()
    with command(models[0], "--json", root=tmp_path) as (process, address):
        assert httpx.get(f"{address}/documents").json()["added_count"] == 1
        second = subprocess.run(
            [sys.executable, "-m", "flows.cli", "serve", str(models[0]), "--root", str(tmp_path)],
            cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert second.returncode == 4
        assert "(--documents FILE names another) is being written by process" in second.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert '"swaps": 0' in process.stdout.read()


def test_the_alias_of_a_registry_is_followed(models, mlflow_root, tmp_path):
    from flows import tracking
    from flows.tracking.models import log_model

    tracking.ready()
    client, experiment = tracking.client(), tracking.experiment_id("served")
    client.create_registered_model("ssi")

    def register(directory, **tags):
        run = client.create_run(experiment, tags=tags).info.run_id
        logged = log_model(experiment, run, "TF-IDF", directory / "model", ["en"])
        path = tracking.model_directory(run)
        shutil.copytree(directory / "index", path.parent / "index")
        made = client.create_model_version("ssi", f"models:/{logged}", run, model_id=logged)
        client.set_registered_model_alias("ssi", "champion", made.version)

    register(models[0])
    arguments = ("models:/ssi@champion", "--follow", "0.2")
    with command(*arguments, root=mlflow_root) as (_, address):
        asked = {"params": {"q": "寺"}}
        assert httpx.get(f"{address}/search", **asked).json()["results"] == []
        (model,) = httpx.get(f"{address}/healthz").json()["models"]
        assert model["title"].startswith("models:/ssi@champion (version 1, ")
        register(models[1], row="U'V + I")
        end = time.monotonic() + 60
        while not httpx.get(f"{address}/search", **asked).json()["results"]:
            assert time.monotonic() < end
            time.sleep(0.1)
        said = httpx.get(f"{address}/healthz").json()
        assert said["status"] == "ok"
        assert said["models"][0]["title"] == "models:/ssi@champion (version 2, U'V + I)"
