"""Requests and responses of the HTTP API, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

MOST_QUERY, MOST_TEXT, MOST_HITS, MOST_AT_ONCE = 2_000, 200_000, 1_000, 1_000
MOST_NAME = 500
"""Letters of an id, or of a title."""

Which = Literal["served", "second"]
Id = Annotated[
    str, StringConstraints(min_length=1, max_length=MOST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Title = Annotated[str, StringConstraints(max_length=MOST_NAME)]
Url = Annotated[str, StringConstraints(max_length=2_000, pattern=r"^[^\x00-\x20\x7f]*$")]
Text = Annotated[str, StringConstraints(max_length=MOST_TEXT)]


class _Asked(BaseModel):
    """Base of requests: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Page(_Asked):
    """A page that ads, or documents, are to be found for."""

    page: Annotated[str, StringConstraints(min_length=1, max_length=MOST_TEXT)]
    k: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10
    model: Which = "served"


class NewDocument(_Asked):
    """A document to be added."""

    id: Id
    title: Title
    text: Text
    url: Url | None = None


class NewDocuments(_Asked):
    """Documents to be added; one that bears the id of another takes its place."""

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=MOST_AT_ONCE)]


def largest(request: type[BaseModel]) -> int:
    """Return the bytes that a request of a kind has at most, every character of it escaped.

    >>> largest(Page) < 13 * MOST_TEXT
    True
    """
    schema = request.model_json_schema()
    return _largest(schema, schema.get("$defs", {}))


_ESCAPED, _AROUND = len(r"\ud83d\ude00"), 64
"""Bytes of one character, and of what stands around a value: marks, blanks, line breaks."""


def _largest(schema: Mapping[str, Any], named: Mapping[str, Any]) -> int:
    if "$ref" in schema:
        return _largest(named[schema["$ref"].rpartition("/")[2]], named)
    if "anyOf" in schema:
        return max(_largest(one, named) for one in schema["anyOf"])
    if "enum" in schema:
        return _AROUND + _ESCAPED * max(map(len, schema["enum"]))
    match schema["type"]:
        case "string":
            return _AROUND + _ESCAPED * int(schema["maxLength"])
        case "array":
            return _AROUND + int(schema["maxItems"]) * _largest(schema["items"], named)
        case "object":
            fields = schema["properties"].items()
            sizes = (_ESCAPED * len(name) + _largest(one, named) for name, one in fields)
            return _AROUND + sum(sizes)
        case _:
            return _AROUND


class Found(BaseModel):
    """A document and its score.

    ``snippet`` is the part of its text with most of the words that were asked for, plain text, or
    the heading that alone has some; ``marks`` are start and end of each of them in it, in
    characters of Unicode. Both, and ``url``, are null where they are not known. ``fields`` are
    those of the document that have words that were asked for. ``related`` are start and end of
    words that the model relates to these, if they were asked for.
    """

    id: str
    title: str
    score: float
    url: str | None
    snippet: str | None
    marks: list[tuple[int, int]]
    fields: list[str]
    related: list[tuple[int, int]] = []


class Sentence(BaseModel):
    """A sentence of a document that was found, and ``marks`` as in `Found`."""

    id: str
    title: str
    url: str | None
    text: str
    score: float
    marks: list[tuple[int, int]]


class Summary(BaseModel):
    """Sentences that answer what was asked; ``reason`` says why there are none."""

    sentences: list[Sentence]
    reason: str | None = None


class Results(BaseModel):
    """Hits, best first; ``reason`` says why there are none; ``summary`` if it was asked for.

    ``unknown`` has the words of the query that the model does not know, each with a known one that
    is spelled like it, or null.
    """

    results: list[Found]
    reason: str | None = None
    summary: Summary | None = None
    unknown: dict[str, str | None] = {}


class Neighbour(BaseModel):
    """A word, and how near it is: -1 to 1."""

    word: str
    score: float


class Neighbours(BaseModel):
    """Words that the model relates to what was asked, the nearest first.

    ``chance`` is what the nearest word would have if all vectors were random: words below it may
    well be there by chance.
    """

    results: list[Neighbour]
    chance: float


class PartOfScore(BaseModel):
    """Contribution of a word of the query and a word of the document to the score.

    ``fields`` are those of the document that have its word, with the share of each in the weight of
    the word; null where the model does not read fields apart.
    """

    query_word: str
    document_word: str
    part: float
    fields: dict[str, float | None] = {}


class PopularityOfScore(BaseModel):
    """The term ``weight`` times ln(1 + links to the document), which is ``part`` of the score."""

    weight: float
    part: float


class FeatureOfScore(BaseModel):
    """A feature of a reranked document, and what the score loses where it is 0."""

    name: str
    value: float
    share: float


class Explained(BaseModel):
    """A score taken apart: the sum of ``parts`` and ``rest``.

    ``popularity`` is one of the parts, null where the model counts no links. A reranked document
    has ``features`` instead of parts.
    """

    score: float
    parts: list[PartOfScore]
    rest: float
    popularity: PopularityOfScore | None = None
    features: list[FeatureOfScore] = []


class WordGap(BaseModel):
    """Share of a word of the query in the score of a document, and in that of a better one."""

    word: str
    here: float
    there: float


class Change(BaseModel):
    """Words that are added to a field of a document, and the place and score that it has then."""

    field: str
    words: list[str]
    rank: int
    score: float


class Why(BaseModel):
    """What keeps a document from the first k places, and a change that brings it there.

    ``rank`` is null where the document shares nothing with the query, ``above``, ``place`` and
    ``needed`` are title, place and score of the document in place k, or of the last before it,
    ``change`` is null where none is needed or found.
    """

    id: str
    title: str
    rank: int | None
    score: float
    k: int
    above: str | None
    place: int
    needed: float
    holding: list[WordGap]
    missing: list[str]
    change: Change | None


class Added(BaseModel):
    """A document that was added."""

    id: str
    title: str


class Documents(BaseModel):
    """Documents that were added and removed since the index was made; at most ``limit`` of each."""

    added: list[Added]
    added_count: int
    removed: list[str]
    removed_count: int


class Put(BaseModel):
    """Numbers of documents that were added, and that replaced others."""

    put: int


class Removed(BaseModel):
    """Ids that were removed, and those that no document bears."""

    removed: list[str]
    unknown: list[str]


class ModelState(BaseModel):
    """A model that answers.

    ``title`` is its name for people, ``name`` the kind of model; ``texts`` says whether its index
    keeps them, so that results have snippets; ``recall`` of the 10 best is as
    measured, null where search is exact; ``popularity`` says whether the score has a term that
    counts links, which can be left out; ``examples`` are queries to begin with.
    """

    role: Which
    asked: str
    title: str
    name: str
    directory: str
    documents: int
    added: int
    texts: bool
    recall: float | None
    query_languages: list[str]
    document_languages: list[str]
    popularity: bool
    follows: bool
    since: datetime
    problem: str | None
    examples: list[str]


class Health(BaseModel):
    """``ok``, or ``stale`` where a model that should have taken over could not be opened."""

    status: Literal["ok", "stale"]
    models: list[ModelState]


class Problem(BaseModel):
    """Problem with a request."""

    loc: list[str | int]
    msg: str
    type: str


class Problems(BaseModel):
    """Everything that is wrong with a request."""

    detail: list[Problem]
