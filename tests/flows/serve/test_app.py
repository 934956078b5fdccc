"""The HTTP service: answers, documents, models that change, hostile requests."""

import asyncio
import json
import socket
import threading
import time
from dataclasses import asdict

import httpx
import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flows.serve import app as module
from flows.serve.guard import Guard
from flows.serve.run import documents_of
from flows.serve.service import Service
from ssi_core.guests.live.changes import Changes
from ssi_core.serving.related import related_documents
from ssi_core.serving.searcher import Searcher, open_searcher
from ssi_core.serving.why import why
from ssi_core.types import BadInput, Refused
from tests.flows.services import BILINEAR, TFIDF, Registry, answering, service, write_model
from tests.serving.models import TEXTS, write_parts

QUERY = "car moon road"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    return {
        "bilinear": write_model(BILINEAR, path / "bilinear"),
        "tfidf": write_model(TFIDF, path / "tfidf"),
    }


@pytest.fixture(scope="module")
def client(models, tmp_path_factory):
    """A service of two models that tests ask and do not change."""
    path = tmp_path_factory.mktemp("service") / "documents.db"
    with answering(service(path, Registry(**models), "bilinear", "tfidf")) as client:
        yield client


@pytest.mark.parametrize(("role", "name"), [("served", "bilinear"), ("second", "tfidf")])
def test_it_finds_what_the_searcher_finds(client, models, role, name):
    expected = open_searcher(models[name]).search([QUERY], 3)[0]
    asked = {"q": QUERY, "k": 3, "model": role}
    found = client.get("/search", params=asked).json()
    matched = client.post("/match", json={"page": QUERY, "k": 3, "model": role}).json()
    assert [hit["title"] for hit in found["results"]] == [hit.title for hit in expected.hits]
    assert found["reason"] is None
    assert matched == found


def test_it_says_why_nothing_is_found(client):
    found = client.get("/search", params={"q": "unheard"}).json()
    assert found["results"] == []
    assert "no word that the model knows" in found["reason"]


def test_it_names_words_that_no_text_has(client):
    found = client.get("/search", params={"q": "autmobile moon unheard"}).json()
    assert found["unknown"] == {"autmobile": "automobile", "unheard": None}
    assert found["results"]
    assert client.get("/search", params={"q": "moon"}).json()["unknown"] == {}


def test_it_takes_a_score_apart(client):
    hit = client.get("/search", params={"q": QUERY}).json()["results"][0]
    said = client.get("/explain", params={"q": QUERY, "document": hit["id"], "k": 2}).json()
    assert len(said["parts"]) == 2
    assert said["score"] == pytest.approx(hit["score"], rel=1e-4)
    assert sum(part["part"] for part in said["parts"]) + said["rest"] == pytest.approx(hit["score"])


@pytest.fixture(scope="module")
def relating(tmp_path_factory):
    """A model with texts that has one of related documents, and one that has none."""
    path = tmp_path_factory.mktemp("relating")
    texts = write_parts(path / "texts", TEXTS, [None] * len(TEXTS))
    both = write_model(TFIDF, path / "both", texts)
    write_model(BILINEAR, both / "related", texts)
    return {"both": both, "alone": write_model(TFIDF, path / "alone", texts)}


def test_a_missed_document_is_answered_as_by_the_library(relating, tmp_path):
    searcher = open_searcher(relating["alone"])
    expected = why(searcher, "wheel engine moon", "d1", 1)
    registry = Registry(**relating)
    with answering(service(tmp_path / "documents.db", registry, "alone")) as client:
        asked = {"q": "wheel engine moon", "document": "Automobile", "k": 1}
        answer = client.get("/why", params=asked).json()
    assert expected.change is not None
    assert answer == json.loads(json.dumps(asdict(expected)))


def test_it_relates_documents_those_that_are_added_too(relating, tmp_path):
    path, registry = tmp_path / "documents.db", Registry(**relating)

    def asked(client, document, model="served"):
        said = client.get("/related", params={"document": document, "k": 9, "model": model}).json()
        return {hit["id"]: hit["score"] for hit in said["results"]}

    with answering(service(path, registry, "both", "alone")) as client:
        for role, searcher in (
            ("served", open_searcher(relating["both"] / "related")),
            ("second", open_searcher(relating["alone"])),
        ):
            expected = related_documents(searcher, "d1", 9)
            assert asked(client, "d1", role) == {hit.id: hit.score for hit in expected.hits}
            assert asked(client, "Automobile", role) == asked(client, "d1", role)
        new = {"id": "n", "title": "New", "text": TEXTS[1]}
        client.post("/documents", json={"documents": [new]}).raise_for_status()
        client.request("DELETE", "/documents", params={"id": "d0"})
        for role in ("served", "second"):
            assert "n" in asked(client, "d1", role)
            found = asked(client, "n", role)
            assert "d1" in found
            assert not {"d0", "n"} & found.keys()
        wrong = client.get("/related", params={"document": "automobil"})
        assert wrong.status_code == 422
        said = wrong.json()["detail"][0]["msg"]
        assert said.startswith("no document has the title or id")
        assert "Titles near it: 'Automobile'" in said
        for letters, message in ((500, "no document has"), (501, "at most 500 characters")):
            wrong = client.get("/related", params={"document": "d" * letters})
            assert message in wrong.json()["detail"][0]["msg"]
    with answering(service(path, registry, "both")) as client:  # they outlive the service
        assert "n" in asked(client, "d1")
        assert client.get("/related", params={"document": "d0"}).status_code == 422


def test_a_model_that_takes_over_brings_its_related_documents(relating, tmp_path):
    registry = Registry(champion=relating["alone"])
    own = service(tmp_path / "documents.db", registry, "champion")
    own.put([module.Document("n", "New", TEXTS[1])])
    assert own.models[0].related is None
    registry.place["champion"] = relating["both"]
    own.follow()
    (served,) = own.models
    assert (served.problem, served.related.added, served.searcher.added) == (None, 1, 1)
    assert "n" in {hit.id for hit in related_documents(served.related, "d1", 9).hits}


def test_a_model_takes_over_in_its_own_place(models, tmp_path):
    registry = Registry(first=models["tfidf"], second=models["tfidf"], third=models["tfidf"])
    own = service(tmp_path / "documents.db", registry, "first", "second", "third")
    registry.place["second"] = models["bilinear"]
    own.follow()
    assert [one.directory for one in own.models] == [
        models[name] for name in ("tfidf", "bilinear", "tfidf")
    ]


def test_it_names_the_fields_of_results_and_of_explanations(relating, tmp_path):
    new = {"id": "n", "title": "Moon", "text": "car road", "url": "https://a.b/engine"}
    with answering(service(tmp_path / "documents.db", Registry(**relating), "alone")) as client:
        client.post("/documents", json={"documents": [new]}).raise_for_status()
        found = client.get("/search", params={"q": "car moon engine"}).json()["results"]
        assert {hit["id"]: hit["fields"] for hit in found}["n"] == ["title", "url", "text"]
        said = client.get("/explain", params={"q": "car", "document": "n"}).json()
        assert [part["fields"] for part in said["parts"]] == [{"text": None}]


def test_it_relates_words(client):
    said = client.get("/neighbours", params={"word": "car", "k": 3}).json()
    related = said["results"]
    assert len(related) == 3
    assert 0 < said["chance"] < 9
    assert "car" not in [each["word"] for each in related]


def test_it_says_how_it_is(client):
    said = client.get("/healthz").json()
    assert said["status"] == "ok"
    assert [(each["role"], each["documents"]) for each in said["models"]] == [
        ("served", 6),
        ("second", 6),
    ]
    client.get("/nowhere/at/all")
    text = client.get("/metrics").text
    assert 'ssi_requests_total{method="GET",path="/healthz",status="200"}' in text
    assert 'path="other",status="404"' in text
    assert 'ssi_documents{kind="indexed",model="served"} 6.0' in text
    assert 'ssi_recall{model="served"} 1.0' in text
    assert [each["recall"] for each in said["models"]] == [None, None]


def test_documents_come_and_go_and_outlive_the_service(models, tmp_path):
    registry, path = Registry(**models), tmp_path / "documents.db"
    with answering(service(path, registry, "bilinear", "tfidf")) as client:
        assert client.post("/documents", json={"documents": [NEW]}).json() == {"put": 1}
        said = client.request("DELETE", "/documents", params={"id": ["d0", "zz"]}).json()
        assert said == {"removed": ["d0"], "unknown": ["zz"]}
    with answering(service(path, registry, "bilinear", "tfidf")) as client:
        for role in ("served", "second"):
            asked = {"q": QUERY, "model": role, "k": 9}
            ids = [hit["id"] for hit in client.get("/search", params=asked).json()["results"]]
            assert "n" in ids
            assert "d0" not in ids
        listed = client.get("/documents").json()
        assert listed["added"] == [{"id": "n", "title": "New"}]
        assert listed["removed"] == ["d0"]
        assert client.get("/healthz").json()["models"][0]["added"] == 1
        client.request("DELETE", "/documents", params={"id": "n"})
    with answering(service(path, registry, "tfidf")) as client:
        assert client.get("/documents").json()["removed"] == ["d0", "n"]


def test_it_summarises_what_it_finds(models, tmp_path):
    text = "A car needs a road. The engine of a car turns a wheel. The moon shines on everything."
    new = {"id": "n1", "title": "On cars", "text": f"On cars\n{text}", "url": "https://a.b/c"}
    with answering(service(tmp_path / "documents.db", Registry(**models), "tfidf")) as client:
        assert client.post("/documents", json={"documents": [new]}).json() == {"put": 1}
        asked = {"q": "car engine wheel", "k": 3}
        plain = client.get("/search", params=asked).json()
        assert plain["summary"] is None
        found = client.get("/search", params={**asked, "summary": 8}).json()
        (sentence,) = found["summary"]["sentences"]
        assert sentence["text"] == "The engine of a car turns a wheel."
        assert (sentence["id"], sentence["title"]) == ("n1", "On cars")
        assert [sentence["text"][a:b] for a, b in sentence["marks"]] == ["engine", "car", "wheel"]
        (own,) = (hit for hit in found["results"] if hit["id"] == "n1")
        assert own["snippet"] == sentence["text"]
        unheard = client.get("/search", params={"q": "unheard", "summary": 8}).json()
        assert unheard["summary"] == {"sentences": [], "reason": unheard["reason"]}
        assert client.get("/search", params={**asked, "summary": 1001}).status_code == 422


def test_a_model_takes_over_and_no_request_is_lost(models, tmp_path):
    registry = Registry(champion=models["tfidf"])
    own = service(tmp_path / "documents.db", registry, "champion")
    own.put([module.Document("n", "New", "car moon")])
    known, problems, answers, over = [], [], [], threading.Event()

    def ask(url):
        with httpx.Client(base_url=url, timeout=30) as client:
            while not over.is_set():
                answer = client.get("/search", params={"q": QUERY, "k": 9})
                if answer.status_code == 200:
                    answers.append(answer.text)
                else:
                    problems.append(answer.text)

    with answering(own) as client:
        askers = [threading.Thread(target=ask, args=(client.base_url,)) for _ in range(4)]
        for name in ("tfidf", "bilinear"):
            registry.place["champion"] = models[name]
            own.follow()
            known.append(client.get("/search", params={"q": QUERY, "k": 9}).text)
        for asker in askers:
            asker.start()
        for turn in range(4):
            registry.place["champion"] = models[("tfidf", "bilinear")[turn % 2]]
            own.follow()
            # At most one answer of each asker was on its way before the swap.
            enough, latest = len(answers) + len(problems) + 5, time.monotonic() + 30
            while len(answers) + len(problems) < enough and time.monotonic() < latest:
                time.sleep(0.005)
        over.set()
        for asker in askers:
            asker.join(30)
        assert "ssi_model_swaps_total 5.0" in client.get("/metrics").text
    assert not problems
    # Each answer is that of one model, whole.
    assert set(answers) == set(known)
    assert all('"id":"n"' in answer for answer in known)


def test_a_model_that_cannot_be_opened_takes_nothing_over(models, tmp_path):
    registry = Registry(champion=models["tfidf"])
    own = service(tmp_path / "documents.db", registry, "champion")
    with answering(own) as client:
        before = client.get("/search", params={"q": QUERY}).json()
        for place in (tmp_path / "nothing", BadInput("no alias"), OSError("the disk is gone")):
            registry.place["champion"] = place
            own.follow()
            said = client.get("/healthz").json()
            assert said["status"] == "stale"
            assert said["models"][0]["problem"]
            assert client.get("/search", params={"q": QUERY}).json() == before
        registry.place["champion"] = models["bilinear"]
        own.follow()
        assert client.get("/healthz").json()["status"] == "ok"
        assert client.get("/search", params={"q": QUERY}).json() != before


def test_a_parameter_that_there_is_not_is_answered_with_those_that_there_are(client):
    [said] = client.get("/search?q=car&K=5").json()["detail"]
    assert said["loc"] == ["query", "K"]
    assert "no parameter 'K'. Did you mean 'k'? Known: q, k, lang" in said["msg"]
    assert client.get("/?q=car&from=a-bookmark").status_code == 200
    assert client.get("/healthz?from=a-probe").status_code == 200


def test_a_body_without_its_type_is_answered_with_the_header_that_it_needs(client):
    for content in (b'{"documents": []}', b"{bad"):
        (said,) = client.post("/documents", content=content).json()["detail"]
        assert said["msg"] == "the body is read with the header content-type: application/json"
    (said,) = client.post("/documents", json={"documents": []}).json()["detail"]
    assert "header" not in said["msg"]


def raw(content):
    return {"content": content, "headers": {"content-type": "application/json"}}


NEW = {"id": "n", "title": "New", "text": "car car moon"}
WRONG = {
    "no query": ("GET", "/search", {}, 422),
    "an empty query": ("GET", "/search?q=", {}, 422),
    "an unknown parameter": ("GET", "/search?q=car&K=5", {}, 422),
    "a parameter of a body": ("POST", "/match?k=3", {"json": {"page": "car"}}, 422),
    "a long query": ("GET", "/search?q=" + "x" * 2001, {}, 422),
    "k too large": ("GET", "/search?q=car&k=1001", {}, 422),
    "k no number": ("GET", "/search?q=car&k=nan", {}, 422),
    "an unknown language": ("GET", "/search?q=car&lang=xx", {}, 422),
    "an unknown model": ("GET", "/search?q=car&model=best", {}, 422),
    "no such document": ("GET", "/explain?q=car&document=nowhere", {}, 422),
    "a query without a word": ("GET", "/explain?q=unheard&document=d0", {}, 422),
    "a model without vectors": ("GET", "/neighbours?word=car&model=second", {}, 422),
    "an unknown word": ("GET", "/neighbours?word=unheard", {}, 422),
    "no such path": ("GET", "/admin", {}, 404),
    "no such method": ("PUT", "/search?q=car", {}, 405),
    "no JSON": ("POST", "/match", raw(b"{"), 422),
    "no UTF-8": ("POST", "/match", raw(b'{"page": "\xff"}'), 400),
    "a deep body": ("POST", "/match", raw(b"[" * 200_000), 400),
    "a long number": ("POST", "/match", raw(b'{"page": "car", "k": ' + b"9" * 9000 + b"}"), 400),
    "half a surrogate pair": ("POST", "/match", raw(b'{"page": "\\ud800", "\\ud800": NaN}'), 422),
    "no type": ("POST", "/match", {"content": b'{"page": "car"}'}, 422),
    "a form": ("POST", "/match", {"data": {"page": "car"}}, 422),
    "too long a page": ("POST", "/match", {"json": {"page": "x" * 200_001}}, 422),
    "too large a body": ("POST", "/match", {"content": b"x" * (17 << 20)}, 413),
    "no documents": ("POST", "/documents", {"json": {"documents": []}}, 422),
    "a line break": ("POST", "/documents", {"json": {"documents": [NEW | {"id": "a\n"}]}}, 422),
    "one key too many": ("POST", "/match", {"json": {"page": "car", "extra": 1}}, 422),
    "a foreign host": ("GET", "/healthz", {"headers": {"host": "evil.example"}}, 400),
    "a foreign page": ("DELETE", "/documents?id=d0", {"headers": {"origin": "http://a.b"}}, 403),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_request_is_told_so(client, what):
    method, path, more, status = WRONG[what]
    answer = client.request(method, path, **more)
    assert answer.status_code == status, answer.text
    assert all(set(each) == {"loc", "msg", "type"} for each in answer.json()["detail"])


def test_too_many_requests_at_a_time_are_refused(client, monkeypatch):
    monkeypatch.setattr("flows.serve.work._WAITING", 0)
    answer = client.get("/search", params={"q": "car"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


def test_too_many_documents_are_refused(models, tmp_path, monkeypatch):
    monkeypatch.setattr("flows.serve.service.MOST_DOCUMENTS", 1)
    own = service(tmp_path / "documents.db", Registry(**models), "tfidf")
    own.put([module.Document("a", "", "car")])
    with pytest.raises(BadInput, match="more than 1 added"):
        own.put([module.Document("b", "", "car")])
    assert [document.id for document in own.changes()[0]] == ["a"]


def test_a_full_disk_changes_nothing(models, tmp_path, monkeypatch):
    def full(self, documents):
        raise Refused("no space is left on its disk")

    monkeypatch.setattr("ssi_core.guests.live.changes.Changes.put", full)
    own = service(tmp_path / "documents.db", Registry(**models), "tfidf")
    with answering(own) as client:
        answer = client.post("/documents", json={"documents": [NEW]})
        assert answer.status_code == 507
        assert "no space" in answer.json()["detail"][0]["msg"]
        assert client.get("/healthz").json()["models"][0]["added"] == 0


@pytest.mark.parametrize(("method", "path"), [("POST", ""), ("DELETE", "?id=n")])
def test_writes_that_wait_for_a_disk_hold_no_question_back(
    models, tmp_path, monkeypatch, method, path
):
    own, disk = service(tmp_path / "documents.db", Registry(**models), "tfidf"), threading.Event()
    entered = threading.Event()

    def slow(*_):
        entered.set()
        disk.wait(30)
        return set()

    monkeypatch.setattr(own, "put", slow)
    monkeypatch.setattr(own, "drop", slow)
    monkeypatch.setattr(module.environment, "cores", lambda: 1)
    body = {"documents": [NEW]} if method == "POST" else None
    with answering(own) as client:
        write = threading.Thread(
            target=client.request, args=(method, f"/documents{path}"), kwargs={"json": body}
        )
        write.start()
        try:
            assert entered.wait(30)
            assert client.get("/search", params={"q": "car"}, timeout=10).status_code == 200
            assert not disk.is_set()
        finally:
            disk.set()
            write.join()


def test_a_body_that_does_not_come_is_not_waited_for():
    said = []

    async def receive():
        await asyncio.sleep(30)

    async def send(message):
        said.append(message)

    asked = {"type": "http", "method": "POST", "path": "/match", "scheme": "http", "headers": []}
    guard = Guard(None, limits={("POST", "/match"): 10}, together=10, patience=0.05)
    asyncio.run(guard(asked, receive, send))
    assert said[0]["status"] == 408


@pytest.mark.parametrize(
    "path", ["/", "/search?q=car", "/healthz", "/documents", "/nowhere", "/search", "/match"]
)
def test_head_is_answered_as_get_without_a_body(client, path):
    full, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (full.status_code, b"")
    assert dict(head.headers) == dict(full.headers) | {"date": head.headers["date"]}


def test_head_is_counted_by_its_route(client):
    client.head("/healthz")
    text = client.get("/metrics").text
    assert 'ssi_requests_total{method="HEAD",path="/healthz",status="200"}' in text


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9,
        b"GET /search?q=\xff\xfe%ff%00%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /match HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /match HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /match HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n{",
        b"DELETE /documents HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_hardly_http_is_refused_and_the_service_goes_on(client, sent):
    said = b""
    with socket.create_connection((client.base_url.host, client.base_url.port), 10) as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65_536):
                said += part
        except TimeoutError:
            raise
        except OSError:
            pass  # it need not read all of it
    assert not said or said.split()[1][:1] in (b"2", b"4"), said[:200]
    assert client.get("/healthz").json()["status"] == "ok"


def values(schema, schemas):
    """Values that a JSON schema describes, and many that it does not."""
    if "$ref" in schema:
        return values(schemas[schema["$ref"].split("/")[-1]], schemas)
    if "anyOf" in schema:
        return st.one_of(*(values(each, schemas) for each in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        named = {n: values(s, schemas) for n, s in schema["properties"].items()}
        needed = {n: s for n, s in named.items() if n in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional={n: named[n] for n in named.keys() - needed})
    if kind == "array":
        return st.lists(values(schema["items"], schemas), max_size=3)
    if kind == "integer":
        return st.one_of(st.integers(1, 30), st.integers(-1, 30), st.integers())
    if kind == "null":
        return st.none()
    if kind == "boolean":
        # What is on can be asked of every model.
        on = st.just(True)
        return st.one_of(on, on, on, st.booleans(), st.text())
    # It is a word, and a document.
    car = st.just("car")
    return st.one_of(car, car, car, st.sampled_from(["en", "ja", "unheard"]), st.text())


def right_value(schema, schemas):
    """One value that a JSON schema describes, and that is in the index."""
    if "$ref" in schema:
        return right_value(schemas[schema["$ref"].split("/")[-1]], schemas)
    if "anyOf" in schema:
        return right_value(schema["anyOf"][0], schemas)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        needed = schema.get("required", ())
        return {name: right_value(schema["properties"][name], schemas) for name in needed}
    if schema.get("type") == "array":
        return [right_value(schema["items"], schemas)]
    return 1 if schema.get("type") == "integer" else "car"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def flat(parameters):
    """Parameters as an address can hold them."""
    pairs = []
    for name, value in parameters.items():
        for each in value if isinstance(value, list) else [value]:
            pairs.append((name, str(each).encode(errors="replace").decode()))
    return pairs


def fuzzed(said):
    """For every operation that a service says it has: requests, and one that has an answer."""
    schemas = said["components"]["schemas"]
    requests = []
    for path, operations in said["paths"].items():
        for method, operation in operations.items():
            asked, needed = {}, {}
            for each in operation.get("parameters", ()):
                right = values(each["schema"], schemas)
                asked[each["name"]] = right if each["required"] else right | st.none()
                if each["required"]:
                    needed[each["name"]] = right_value(each["schema"], schemas)
            body, sent = st.none(), None
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                body = st.one_of(values(schema, schemas), values(schema, schemas), JSON)
                sent = right_value(schema, schemas)
            asked = st.fixed_dictionaries(asked)
            any_request = st.tuples(st.just(path), st.just(method), asked, body)
            requests.append((any_request, (path, method, needed, sent)))
    return requests


def test_no_request_of_its_own_description_makes_it_fail(tmp_path):
    texts = write_parts(tmp_path / "texts", TEXTS, [None] * len(TEXTS))
    named = {"bilinear": BILINEAR, "tfidf": TFIDF}
    models = {name: write_model(model, tmp_path / name, texts) for name, model in named.items()}
    own = service(tmp_path / "documents.db", Registry(**models), "bilinear", "tfidf")
    own.put([module.Document("car", "Car", "car road")])
    statuses = set()
    with answering(own) as client:
        said = client.get("/openapi.json").json()

        def ask(request):
            path, method, asked, body = request
            more = {}
            if body is not None:
                sent = json.dumps(body)
                more = raw(sent)
            asked = flat({n: v for n, v in asked.items() if v is not None})
            answer = client.request(method.upper(), path, params=asked, **more)
            assert answer.status_code < 500
            statuses.add((path, answer.status_code))
            known = said["paths"][path][method]["responses"]
            told = known[str(answer.status_code)]["content"]
            if schema := told.get("application/json", {}).get("schema"):
                whole = {**schema, "components": said["components"]}
                jsonschema.validate(answer.json(), whole)

        for requests, answered_one in fuzzed(said):
            settings(max_examples=25, suppress_health_check=list(HealthCheck))(
                example(answered_one)(given(requests)(ask))
            )()
    answered = {path for path, status in statuses if status == 200}
    assert answered == set(said["paths"])


def test_documents_of_a_model_have_a_place_of_their_own(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    path = tmp_path / ".ssi" / "serve"
    assert documents_of("models:/ssi@champion") == path / "models-ssi@champion" / "documents.db"
    assert documents_of("../../etc").parent.parent == path
    assert documents_of("..").is_relative_to(path)


def test_a_directory_has_one_place_however_it_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    (tmp_path / "models" / "new").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "models")
    place = documents_of(str(tmp_path / "models" / "new"))
    assert place == tmp_path / ".ssi" / "serve" / "models-new" / "documents.db"
    assert {documents_of(name) for name in ("new", "./new/", "../models/new")} == {place}
    before = tmp_path / ".ssi" / "serve" / "new" / "documents.db"
    before.parent.mkdir(parents=True)
    before.touch()
    assert documents_of("new") == before
    assert documents_of("./new/") == before
    assert documents_of("../models/new") == place


def test_a_model_that_takes_over_brings_its_title(models, tmp_path):
    registry = Registry(champion=models["tfidf"])
    path = Changes(tmp_path / "documents.db")
    titled = Service(
        ["models:/ssi@champion"],
        path,
        registry,
        title=lambda asked, place, label: f"a {place.name}",
    )
    with answering(titled) as client:
        titles = [client.get("/healthz").json()["models"][0]["title"]]
        for name in ("bilinear", "bilinear"):
            registry.place["champion"] = models[name]
            titled.follow()
            titles.append(client.get("/healthz").json()["models"][0]["title"])
    assert titles == ["a tfidf", "a bilinear", "a bilinear"]


def test_it_says_how_much_an_approximate_search_finds(models, tmp_path):
    def prepare(searcher):
        asked.append(searcher)
        return Searcher(searcher.fitted, searcher.index, searcher.ranked, recall=0.75)

    asked, registry = [], Registry(**models)
    path = Changes(tmp_path / "documents.db")
    own = Service(["models:/ssi@bilinear"], path, registry, prepare=prepare)
    with answering(own) as client:
        assert client.get("/healthz").json()["models"][0]["recall"] == 0.75
        assert 'ssi_recall{model="served"} 0.75' in client.get("/metrics").text
        registry.place["bilinear"] = models["tfidf"]
        own.follow()
        assert client.get("/healthz").json()["models"][0]["name"] == "tfidf"
        assert len(asked) == 2
