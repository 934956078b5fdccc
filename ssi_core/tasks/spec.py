"""Specification of a task: its queries, their relevant documents, how they are divided.

One `TaskSpec` says it for the library, the flows, the command and the tables; a combination that
means nothing is refused here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ssi_core.remedies import spelled
from ssi_core.strict import faults, instead
from ssi_core.tasks.kinds import (
    ANCHOR,
    ANCHORS,
    AUXILIARY,
    CLICK,
    JUDGEMENT,
    LINK,
    LINK_OF,
    LINK_OF_TRANSLATION,
    SELF,
    TITLES,
    TRANSLATION,
    WORDS_OF,
    Relevant,
    Split,
    Vocabularies,
)
from ssi_core.text.fields import FIELDS, TEXT
from ssi_core.types import BadInput
from ssi_core.views.hashing import Hashing, parse_view
from ssi_core.views.names import COUNTS
from ssi_core.views.names import FIELDS as SHORT
from ssi_core.views.rewriting import Rewriting
from ssi_core.views.weighting import Weighting

DRAWN = 10_000
"""Candidates that the paper draws of a large corpus."""


_JUDGED = "judged"
_QUERIES = {
    LINK: ("documents", f"{WORDS_OF}N"),
    TRANSLATION: ("queries",),
    LINK_OF_TRANSLATION: ("queries",),
    CLICK: ("queries", "goals"),
    JUDGEMENT: ("queries",),
    ANCHOR: (ANCHORS,),
    SELF: (TITLES, f"{WORDS_OF}N"),
}
_SPLITS: Mapping[str, tuple[Split, ...]] = {
    LINK: ("pairs", "documents"),
    TRANSLATION: ("articles",),
    LINK_OF_TRANSLATION: ("articles",),
    CLICK: ("pairs", "users", "time"),
    JUDGEMENT: ("queries", "given"),
    ANCHOR: ("queries",),
    SELF: ("queries",),
}
_VOCABULARIES: Mapping[str, tuple[Vocabularies, ...]] = {
    LINK: ("documents",),
    TRANSLATION: ("two",),
    LINK_OF_TRANSLATION: ("two",),
    CLICK: ("one", "two"),
    JUDGEMENT: ("documents",),
    ANCHOR: ("documents",),
    SELF: ("documents",),
}
"""What goes with each relation, the default first."""

_WITH_AUXILIARY = (LINK, ANCHOR, SELF, JUDGEMENT)


class TaskSpec(BaseModel):
    """Settings of a task that is made of a collection.

    Fields that are left out have the default of ``relevant``; they are filled in, so that two specs
    that mean the same are equal.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    relevant: Relevant = Field(
        default="link",
        description="What is relevant to a query: documents that it links to (link), its "
        "translation, what its translation links to (translation > link), what was clicked "
        "(click), what was judged relevant (judgement), documents that links with these words "
        "lead to (anchor), or the document that bears the title or has the words (self)",
    )
    queries: str = Field(
        default="",
        description="Texts of the queries: documents; words:10 (ten random words of a "
        "document); queries (those of the collection); goals (a page and what its visitor looks "
        "for); anchors (the words of links); titles (titles of documents and of redirects to "
        "them). Empty: documents for links, anchors for anchor, titles for self, else queries",
    )
    split: Split | None = Field(
        default=None,
        description="Unit that the split keeps whole: pairs; documents with their links; "
        "articles (a query and its translation); users or time of clicks; queries (judged ones "
        "in five folds, or anchors, titles and words); given (by the publisher). Empty: pairs, "
        "articles for translations, queries for judgement, anchor and self",
    )
    words: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        default=30_000,
        description="Size of the vocabulary: a number of the most frequent words, or all",
    )
    views: tuple[str, ...] = Field(
        default=(COUNTS, "raw", "sublinear"),
        min_length=1,
        description="Weightings of words: counts, raw, sublinear, binary; raw:100 keeps the 100 "
        "heaviest words of a text, raw@30000 the 30,000 most frequent of all; raw-sublinear weighs "
        "documents by raw counts and queries by sublinear ones, bm25 and lm (a language model) "
        "weigh them differently, too; cfh:k=5,words=30000,ngrams=1 "
        "hashes the words beyond 30,000. For translations: dictionary.raw reads queries "
        "translated word by word, translated.raw those that are given, untitled.raw those "
        "without titles",
    )
    fields: tuple[str, ...] = Field(
        default=(TEXT,),
        min_length=1,
        description="Fields of a document to read: text; title; headings; url (the words of its "
        "address); anchors (the words of links that lead to it), which BM25F alone reads",
    )
    stems: bool = Field(
        default=False,
        description="Read words as their stems (Porter 1980), so that links and linking are one "
        "word. Only for texts in English",
    )
    split_seed: int = Field(default=0, ge=0, description="Random seed of the split")
    pool: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="Number of documents drawn as candidates of every query, beside its own "
        "relevant ones; 0: all. Empty: 10,000 as in the paper, all for judgement, anchor and "
        "self",
    )
    cold: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the documents that training never sees"
    )
    query_draws: int = Field(
        default=20,
        ge=1,
        description="Number of queries drawn from a document for training. Only with words:N",
    )
    vocabularies: Vocabularies | None = Field(
        default=None,
        description="Words that count: those of documents; those of both sides as one "
        "vocabulary (one); those of each side for itself (two). Empty: one for clicks, two for "
        "translations, else documents",
    )
    held_out: Literal["split", "both"] = Field(
        default="split",
        description="Links to test on: those that the split holds out; or (both) links that a "
        "split by pairs and one by documents hold out, so that models of the two splits answer "
        "the same queries",
    )

    ranked: Literal["pool", "judged"] = Field(
        default="pool",
        description="Documents that a query of the test ranks: those of the pool, or those that "
        "were judged for it (judged). For a click log with judgements, the judged queries are "
        "then the test, and clicks on documents that were judged are not trained on",
    )

    auxiliary: tuple[str, ...] = Field(
        default=(),
        description="Further kinds of queries on the same documents, to learn from only: "
        "anchors; titles (and redirects); words:3 (three words of a document, which it "
        "answers); link (whole documents) or link:3 (three words of one), answered by what the "
        "document links to",
    )

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, values: Any) -> Any:
        """Fill in what follows from ``relevant``, and put the views in order."""
        if not isinstance(values, Mapping):
            return values
        filled = dict(values)
        relevant = filled.get("relevant", LINK)
        if relevant not in get_args(Relevant):
            return filled
        filled["queries"] = filled.get("queries") or _QUERIES[relevant][0]
        filled["split"] = filled.get("split") or _SPLITS[relevant][0]
        filled["vocabularies"] = filled.get("vocabularies") or _VOCABULARIES[relevant][0]
        if filled.get("pool") is None:
            filled["pool"] = 0 if relevant in (JUDGEMENT, ANCHOR, SELF) else DRAWN
        views = filled.get("views", cls.model_fields["views"].default)
        if _has_names(views):
            names = {str(parse_view(name)) for name in views} - {COUNTS, SHORT}
            filled["views"] = (COUNTS, *sorted(names))
        fields = filled.get("fields", ())
        if _has_names(fields) and set(fields) <= set(FIELDS):
            filled["fields"] = tuple(name for name in FIELDS if name in fields) or (TEXT,)
        auxiliary = filled.get("auxiliary", ())
        if _has_names(auxiliary):
            filled["auxiliary"] = tuple(sorted(set(auxiliary)))
        return filled

    @model_validator(mode="after")
    def _means_something(self) -> TaskSpec:
        for name, choices in (
            ("queries", _QUERIES[self.relevant]),
            ("split", _SPLITS[self.relevant]),
            ("vocabularies", _VOCABULARIES[self.relevant]),
        ):
            value = getattr(self, name)
            if value not in choices and not (name == "queries" and self._draws_words(choices)):
                raise ValueError(
                    f"{spelled(name, value)} with {spelled('relevant', self.relevant)}: expected "
                    f"{' or '.join(map(repr, choices))}"
                )
        plain = self.relevant == LINK and self.query_words is None
        if self.cold and not (plain and self.split == "pairs"):
            raise ValueError(
                f"cold={self.cold}: expected relevant='link', split='pairs' and queries='documents'"
            )
        if self.held_out == "both" and (not plain or self.cold):
            raise ValueError(
                "held_out='both': expected relevant='link' and queries='documents', none of them "
                "cold"
            )
        if self.queries == "goals" and self.vocabularies == "two":
            raise ValueError("queries='goals': expected vocabularies='one'")
        if self.ranked == _JUDGED and self.relevant not in (CLICK, JUDGEMENT):
            raise ValueError("ranked='judged': expected relevant='click' or 'judgement'")
        if self.ranked == _JUDGED and self.queries == "goals":
            raise ValueError("ranked='judged': expected queries='queries'")
        if self.hashings and self.relevant != LINK:
            raise ValueError(f"views: with relevant={self.relevant!r} none is hashed")
        if self.across and any(weighting.two_sided for weighting in self.weightings):
            raise ValueError("views: of translations none weighs queries otherwise (bm25, lm)")
        if self.rewritings and not self.across:
            raise ValueError("views: only queries in another language are rewritten")
        if unknown := [name for name in self.fields if name not in FIELDS]:
            raise ValueError(f"fields: no field {instead(unknown[0], FIELDS)}")
        if TEXT not in self.fields:
            raise ValueError("fields: expected 'text' among them")
        if self.has_fields and self.across:
            raise ValueError("fields: of translations texts alone are read")
        if self.stems and self.across:
            raise ValueError("stems: of translations words are read as they are")
        self._check_beside()
        return self

    def _check_beside(self) -> None:
        """Refuse further kinds of queries that mean nothing here."""
        for name in self.auxiliary:
            if not AUXILIARY.fullmatch(name):
                raise ValueError(
                    f"{spelled('auxiliary', name)}: expected 'anchors', 'titles', 'words:N', "
                    "'link' or 'link:N'"
                )
        if self.auxiliary and self.relevant not in _WITH_AUXILIARY:
            raise ValueError(
                f"{spelled('auxiliary', self.auxiliary[0])} with "
                f"{spelled('relevant', self.relevant)}: expected "
                f"{' or '.join(map(repr, _WITH_AUXILIARY))}"
            )
        if self.kind in self.auxiliary:
            raise ValueError(f"auxiliary={self.kind!r}: these are the queries of the task itself")
        if self.auxiliary and self.hashings:
            raise ValueError("views: with auxiliary kinds none is hashed")

    def _draws_words(self, choices: Iterable[str]) -> bool:
        number = self.queries.removeprefix(WORDS_OF)
        return f"{WORDS_OF}N" in choices and number.isdecimal() and int(number) > 0

    @property
    def kind(self) -> str:
        """Return the name that the task's own queries would have in ``auxiliary``; else empty."""
        if self.relevant == LINK and self.query_words is not None:
            return f"{LINK_OF}{self.query_words}"
        whole: Mapping[str, str] = {LINK: LINK, ANCHOR: ANCHORS, SELF: self.queries}
        return whole.get(self.relevant, "")

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of queries, the task's own and auxiliary ones."""
        return (self.kind, *self.auxiliary)

    @property
    def query_words(self) -> int | None:
        """Words of a query that is drawn from a document; None: queries are other texts."""
        drawn = self.queries.startswith(WORDS_OF)
        return int(self.queries.removeprefix(WORDS_OF)) if drawn else None

    @property
    def tests_judged(self) -> bool:
        """Tell whether clicks are trained on and judgements are the test."""
        return self.ranked == _JUDGED and self.relevant == CLICK

    @property
    def across(self) -> bool:
        """Tell whether queries and documents are in two languages."""
        return self.relevant in (TRANSLATION, LINK_OF_TRANSLATION)

    @property
    def has_fields(self) -> bool:
        """Tell whether more is read of a document than its text."""
        return self.fields != (TEXT,)

    @property
    def asks_documents(self) -> bool:
        """Tell whether whole documents are the queries."""
        return self.queries == _QUERIES[LINK][0]

    @property
    def asks_titles(self) -> bool:
        """Tell whether titles are the queries, so that documents are read without their own."""
        return self.queries == TITLES

    @property
    def division(self) -> str:
        """Return the unit that is assigned to a side as a whole."""
        assert self.split is not None, "filled in by the validator"
        return self.split

    @property
    def most_words(self) -> int | None:
        """Size of the vocabulary; None: every word."""
        return None if self.words == "all" else self.words

    @property
    def candidates(self) -> int:
        """Documents drawn as candidates; 0: all."""
        assert self.pool is not None, "filled in by the validator"
        return self.pool

    @property
    def rewritings(self) -> list[Rewriting]:
        """Views of rewritten queries."""
        return [view for view in map(parse_view, self.views) if isinstance(view, Rewriting)]

    @property
    def hashings(self) -> list[Hashing]:
        """Views of hashed words."""
        return [view for view in map(parse_view, self.views) if isinstance(view, Hashing)]

    @property
    def weightings(self) -> list[Weighting]:
        """Views of words but for the counts, those behind a rewriting too, by their names."""
        parsed = map(parse_view, self.views)
        plain = (view.weighting if isinstance(view, Rewriting) else view for view in parsed)
        words = {str(view): view for view in plain if isinstance(view, Weighting)}
        return [words[name] for name in sorted(set(words) - {COUNTS})]

    def with_views(self, views: Iterable[str]) -> TaskSpec:
        """Return the same task with other views."""
        return spec_of(**{**self.model_dump(), "views": tuple(views)})

    def configuration(self) -> dict[str, Any]:
        """Return the settings of the artefact, as JSON has them."""
        return self.model_dump(mode="json")

    def choices(self) -> dict[str, Any]:
        """Return ``relevant``, and the settings that differ from its defaults, as JSON has them."""
        default = type(self)(relevant=self.relevant).configuration()
        return {
            name: value
            for name, value in self.configuration().items()
            if name == "relevant" or value != default[name]
        }

    def tests_as(self, other: TaskSpec) -> bool:
        """Tell whether both tasks test the same queries, candidates and answers."""
        shared = self.held_out == other.held_out == "both"
        same = (self.split_seed, self.pool) == (other.split_seed, other.pool)
        alone = [one.model_copy(update={"auxiliary": ()}) for one in (self, other)]
        return alone[0] == alone[1] or (shared and same)


def _has_names(values: object) -> bool:
    """Tell whether a value is a list of texts."""
    if isinstance(values, str) or not isinstance(values, Collection):
        return False
    return all(isinstance(name, str) for name in values)


def spec_of(**fields: Any) -> TaskSpec:
    """Return the spec of some fields; `ValueError` says in a line what is wrong with them."""
    try:
        return TaskSpec(**fields)
    except ValidationError as error:
        raise ValueError(faults(error)) from None


def read_spec(fields: Mapping[str, Any], where: str) -> TaskSpec:
    """Return the spec of values from a file.

    Raises
    ------
    BadInput
        A key is unknown, or a value is none; the message begins with ``where``.
    """
    known = [name for name in TaskSpec.model_fields if name != "views"]
    for name in fields:
        if name not in known:
            raise BadInput(f"{where}: no key {instead(name, known)}")
    try:
        return spec_of(**fields)
    except ValueError as error:
        raise BadInput(f"{where}: {error}") from None
