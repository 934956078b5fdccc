"""Supervised Semantic Indexing: learning to rank text from links, clicks and translations.

`import ssi_core as ssi` gives the names of `__all__`, the public interface; they load when they are
first used. Everything else may change.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssi_core.face.compare import Comparison, compare
    from ssi_core.face.documents import Documents, read
    from ssi_core.face.export import Export
    from ssi_core.face.fit import fit
    from ssi_core.face.fit_result import Fit
    from ssi_core.face.hubs import hubs
    from ssi_core.face.index import Index
    from ssi_core.face.models import BM25, SSI, Ranker, TfIdf, load
    from ssi_core.face.task import Task
    from ssi_core.guests.codes.face import Hasher
    from ssi_core.guests.feeds.face import read_feeds
    from ssi_core.guests.profiles.face import Profiles
    from ssi_core.guests.reranking.face import Reranker
    from ssi_core.guests.reranking.letor import read_folds, read_letor
    from ssi_core.guests.site.face import Site, site
    from ssi_core.guests.summary.face import Concepts, summarise
    from ssi_core.sample.face import read_sample
    from ssi_core.types import BadInput, Refused

_HOMES = {
    "BM25": "ssi_core.face.models",
    "BadInput": "ssi_core.types",
    "Comparison": "ssi_core.face.compare",
    "Documents": "ssi_core.face.documents",
    "Export": "ssi_core.face.export",
    "Fit": "ssi_core.face.fit_result",
    "Index": "ssi_core.face.index",
    "Ranker": "ssi_core.face.models",
    "Refused": "ssi_core.types",
    "SSI": "ssi_core.face.models",
    "Task": "ssi_core.face.task",
    "TfIdf": "ssi_core.face.models",
    "compare": "ssi_core.face.compare",
    "fit": "ssi_core.face.fit",
    "hubs": "ssi_core.face.hubs",
    "load": "ssi_core.face.models",
    "read": "ssi_core.face.documents",
}

__all__ = [
    "BM25",
    "SSI",
    "BadInput",
    "Comparison",
    "Concepts",
    "Documents",
    "Export",
    "Fit",
    "Hasher",
    "Index",
    "Profiles",
    "Ranker",
    "Refused",
    "Reranker",
    "Site",
    "Task",
    "TfIdf",
    "compare",
    "fit",
    "hubs",
    "load",
    "read",
    "read_feeds",
    "read_folds",
    "read_letor",
    "read_sample",
    "site",
    "summarise",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used; those of guests stand in their registries."""
    # `from ssi_core import locks` asks here, too, before it looks for the module.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ssi_core.registry import Registry

    names: Registry[Any] = Registry("names", {one: f"{home}:{one}" for one, home in _HOMES.items()})
    if name not in names:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = names[name]
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
