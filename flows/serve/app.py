"""The routes of the service; each takes a searcher once and asks it in a thread."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib import resources
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import PlainTextResponse

from flows import environment
from flows.serve import schemas
from flows.serve.guard import Guard, Heads, OwnHosts, problem
from flows.serve.metrics import CONTENT_TYPE, Measured, Metrics
from flows.serve.service import Served, Service
from flows.serve.work import Work, parsed_by
from ssi_core.guests.live.changes import DamagedDocuments
from ssi_core.guests.live.searcher import Document, LiveSearcher
from ssi_core.serving.explain import explain
from ssi_core.serving.neighbours import by_chance, neighbours
from ssi_core.serving.popularity import counts_links
from ssi_core.serving.query_words import meant, unknown_words
from ssi_core.serving.related import related_documents
from ssi_core.serving.searcher import Answer, languages_of, shown
from ssi_core.serving.summaries import MOST_WORDS, Summary, summarise
from ssi_core.serving.why import why
from ssi_core.strict import instead
from ssi_core.types import BadInput, Refused

_BODY = 16 << 20
_PROBLEMS = 100
_BODIES = 64 << 20  # of all requests that are being answered
ROLES: tuple[schemas.Which, ...] = ("served", "second")

Q = Annotated[str, Query(min_length=1, max_length=schemas.MOST_QUERY, description="Text.")]
K = Annotated[int, Query(ge=1, le=schemas.MOST_HITS)]
Words = Annotated[
    int | None, Query(ge=1, le=MOST_WORDS, description="Words of a summary; none without it.")
]
Named = Annotated[
    str, Query(min_length=1, max_length=schemas.MOST_NAME, description="Title or id.")
]
RelatedWords = Annotated[
    bool, Query(description="Mark words that the model relates to the text, too.")
]
Which = Annotated[schemas.Which, Query(description="Of two models: the first, or the other.")]
Lang = Annotated[str | None, Query(max_length=20, description="Language of the text, such as ja.")]

_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.Problems, "description": text}
    for code, text in {
        400: "Not HTTP as we speak it",
        403: "Asked by the page of another site",
        408: "Too slow",
        413: "Too large",
        422: "Wrong request",
        429: "Too many requests at a time",
        500: "The file of added documents is damaged",
        503: "Too many large requests at a time",
    }.items()
}


def make_app(service: Service, threads: int | None = None, concepts: Any = None) -> FastAPI:
    """Return the application that answers for a service, with as many threads, or one a core.

    Summaries use the concepts, where there are any.
    """
    work, metrics = Work(threads or environment.cores()), Metrics(service)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        work.end()

    # The pages of FastAPI's documentation would be fetched from the internet.
    app = FastAPI(
        title="ssi", version=version("ssi"), lifespan=lifespan, docs_url=None, redoc_url=None,
        responses=_REFUSALS,
    )  # fmt: skip
    app.router.route_class = _route_of(work)
    _add_questions(app, service, work, concepts)
    _add_documents(app, service, work)
    _add_state(app, service, metrics)
    _add_problems(app, service)
    app.add_middleware(Heads)
    app.add_middleware(Guard, limits=_limits(app), together=_BODIES)
    app.add_middleware(OwnHosts)
    app.add_middleware(Measured, metrics=metrics)
    return app


def _route_of(work: Work) -> type[APIRoute]:
    """Return routes that parse bodies beside the event loop, and refuse unknown parameters."""
    parsed = parsed_by(work)

    class Route(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()
            known = [one.alias for one in self.dependant.query_params]
            asks = known or self.body_field is not None

            async def handle(request: Request) -> Response:
                for name in request.query_params if asks else ():
                    if name not in known:
                        said = f"no parameter {instead(name, known)}"
                        where = {"type": "extra_forbidden", "loc": ("query", name)}
                        raise RequestValidationError([{**where, "msg": said}])
                return await handler(parsed(request.scope, request.receive))

            return handle

    return Route


def _limits(app: FastAPI) -> dict[tuple[str, str], int]:
    """Return the largest body of each method and path, in bytes."""
    limits: dict[tuple[str, str], int] = {}
    for route in app.routes:
        if isinstance(route, APIRoute) and route.body_field is not None:
            request: Any = route.body_field.field_info.annotation
            most = min(_BODY, schemas.largest(request))
            limits |= {(method, route.path): most for method in route.methods or ()}
    return limits


def _add_questions(app: FastAPI, service: Service, work: Work, concepts: Any) -> None:
    def served(role: schemas.Which) -> Served:
        models = service.models
        if role == "second" and len(models) == 1:
            raise BadInput("there is no second model. Start the service with --second-model MODEL.")
        return models[role == "second"]

    def searcher(role: schemas.Which) -> LiveSearcher:
        return served(role).searcher

    @app.get("/search", response_model=schemas.Results)
    async def search(
        q: Q,
        k: K = 10,
        lang: Lang = None,
        popularity: bool = True,
        model: Which = "served",
        summary: Words = None,
        related: RelatedWords = False,
    ) -> Response:
        """Find documents for a text, best first, and summarise the first ones for it."""
        chosen = searcher(model)
        answer = await work.search(chosen, q, k, lang, popularity, related)
        views = chosen.views(chosen.side_of(lang))
        words = unknown_words(q, views)
        unknown = await work(lambda: meant(q, words, views)) if words else {}
        if summary is None:
            return _results(answer, unknown)
        how: dict[str, Any] = {"concepts": concepts, "language": lang}
        quoted, answer = await work(lambda: summarise()(chosen, q, answer, summary, **how))
        return _results(answer, unknown, quoted)

    @app.post("/match", response_model=schemas.Results)
    async def match(page: schemas.Page) -> Response:
        """Find ads, or other documents, for the whole text of a page, best first."""
        chosen = searcher(page.model)
        return _results(await work.search(chosen, page.page, page.k))

    @app.get("/related", response_model=schemas.Results)
    async def related(document: Named, k: K = 10, model: Which = "served") -> Response:
        """List the documents that are most related to a document, which is left out."""
        chosen = served(model)
        relating = chosen.related or chosen.searcher
        return _results(await work(lambda: shown(related_documents(relating, document, k))))

    @app.get("/neighbours")
    async def near(word: Q, k: K = 10, model: Which = "served") -> schemas.Neighbours:
        """List the words that the model relates to a word, or to several taken together."""
        fitted = searcher(model).fitted
        words = await work(lambda: neighbours(fitted, word, k))
        results = [schemas.Neighbour(**asdict(word)) for word in words]
        return schemas.Neighbours(results=results, chance=by_chance(fitted))

    @app.get("/explain")
    async def explained(
        q: Q,
        document: Named,
        k: K = 20,
        popularity: bool = True,
        model: Which = "served",
    ) -> schemas.Explained:
        """Take the score of a document apart into words."""
        chosen = searcher(model)
        parts = await work(lambda: explain(chosen, q, document, k, popularity=popularity))
        return schemas.Explained(**asdict(parts))

    @app.get("/why")
    async def missed(q: Q, document: Named, k: K = 10, model: Which = "served") -> schemas.Why:
        """Tell why a document is not among the first k, and what would bring it there."""
        chosen = searcher(model)
        reasons = await work(lambda: why(chosen, q, document, k))
        return schemas.Why(**asdict(reasons))


def _said(error: dict[str, Any]) -> str:
    """Return what is wrong; a body that came as another type than JSON was not read."""
    if isinstance(error.get("input"), bytes):
        return "the body is read with the header content-type: application/json"
    return str(error["msg"])


def _results(
    answer: Answer,
    unknown: Mapping[str, str | None] | None = None,
    quoted: Summary | None = None,
) -> Response:
    """Write an answer once; what a handler returns otherwise is checked and copied before."""
    hits = [schemas.Found(**hit.shown()) for hit in answer.hits]
    summary = None if quoted is None else schemas.Summary(**asdict(quoted))
    results = schemas.Results(
        results=hits, reason=answer.reason, summary=summary, unknown=dict(unknown or {})
    )
    return Response(results.model_dump_json(), media_type="application/json")


def _add_documents(app: FastAPI, service: Service, work: Work) -> None:
    @app.get("/documents")
    async def changed(
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    ) -> schemas.Documents:
        """List what was added and removed since the index was made, by ascending id."""
        added, gone = await work(service.changes)
        return schemas.Documents(
            added=[schemas.Added(id=each.id, title=each.title) for each in added[:limit]],
            added_count=len(added),
            removed=gone[:limit],
            removed_count=len(gone),
        )

    @app.post("/documents")
    async def put(new: schemas.NewDocuments) -> schemas.Put:
        """Add documents; each takes the place of one of its id. They are found at once."""
        documents = [Document(each.id, each.title, each.text, each.url) for each in new.documents]
        await work.write(lambda: service.put(documents))
        return schemas.Put(put=len({document.id for document in documents}))

    @app.delete("/documents")
    async def drop(
        ids: Annotated[
            list[schemas.Id],
            Query(alias="id", min_length=1, max_length=schemas.MOST_AT_ONCE),
        ],
    ) -> schemas.Removed:
        """Remove documents by id, be they of the index or added. They are found no more."""
        known = await work.write(lambda: service.drop(ids))
        wanted = sorted(set(ids))
        return schemas.Removed(
            removed=[id for id in wanted if id in known],
            unknown=[id for id in wanted if id not in known],
        )


def _add_state(app: FastAPI, service: Service, metrics: Metrics) -> None:
    page = (resources.files("flows.serve") / "page.html").read_text(encoding="utf-8")
    headers = {"Content-Security-Policy": _policy(page), "Referrer-Policy": "no-referrer"}

    @app.get("/", include_in_schema=False)
    async def people() -> Response:
        return Response(page, media_type="text/html", headers=headers)

    @app.get("/healthz")
    async def healthz() -> schemas.Health:
        """Say which models answer."""
        models = [_state(role, served) for role, served in zip(ROLES, service.models, strict=False)]
        stale = any(model.problem for model in models)
        return schemas.Health(status="stale" if stale else "ok", models=models)

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics_page() -> Response:
        """Count requests, and time them, in Prometheus's text format."""
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def _state(role: schemas.Which, served: Served) -> schemas.ModelState:
    fitted = served.searcher.fitted
    return schemas.ModelState(
        role=role,
        asked=served.asked,
        title=served.title,
        name=served.name,
        directory=str(served.directory),
        documents=len(served.searcher),
        added=served.searcher.added,
        texts=served.searcher.index.passages is not None,
        recall=served.searcher.recall,
        query_languages=languages_of(fitted.query_views),
        document_languages=languages_of(fitted.document_views),
        popularity=counts_links(fitted),
        follows=served.follows,
        since=served.since,
        problem=served.problem,
        examples=list(served.examples),
    )


def _policy(page: str) -> str:
    """Return a policy that lets the page run its own script and call this service only."""

    def own(tag: str) -> str:
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in texts]
        return " ".join(f"'sha256-{digest.decode()}'" for digest in digests)

    return (
        f"default-src 'none'; script-src {own('script')}; style-src {own('style')}; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )


def _add_problems(app: FastAPI, service: Service) -> None:
    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> Response:
        # Without what was sent, which may be no JSON that can be sent back.
        detail = [
            schemas.Problem(loc=each["loc"], msg=_said(each), type=each["type"])
            for each in error.errors()[:_PROBLEMS]
        ]
        text = schemas.Problems(detail=detail).model_dump_json().encode(errors="replace")
        return Response(text, 422, media_type="application/json")

    @app.exception_handler(StarletteHTTPException)
    async def refused(request: Request, error: StarletteHTTPException) -> Response:
        answer = problem(error.status_code, "http", str(error.detail), "request")
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(BadInput)
    async def bad(request: Request, error: BadInput) -> Response:
        said = str(error)
        for one in service.models:
            # Places on the disk are none of a client's business.
            for searcher in filter(None, (one.searcher, one.related)):
                said = said.removeprefix(f"{searcher.index.path}: ")
        return problem(422, "bad_input", said, "request")

    @app.exception_handler(DamagedDocuments)
    async def damaged(request: Request, error: DamagedDocuments) -> Response:
        return problem(500, "damaged", str(error), "documents")

    @app.exception_handler(Refused)
    async def full(request: Request, error: Refused) -> Response:
        return problem(507, "refused", str(error), "request")
