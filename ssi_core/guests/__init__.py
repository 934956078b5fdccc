"""Systems that use the core and that the core does not need, a package each.

Nothing in the core imports a guest, and no guest imports another: what it adds stands here by name,
and the registries of the core find it (`ssi_core.registry`).
"""

from __future__ import annotations

from collections.abc import Mapping

REGISTRIES: Mapping[str, Mapping[str, str]] = {
    "models": {
        "fusion": "ssi_core.guests.fusion.fusion:Fusion",
        "reranked": "ssi_core.guests.reranking.reranked:Reranked",
        "topic_model": "ssi_core.guests.clickthrough.topic_model:TopicModel",
        "translation_model": "ssi_core.guests.clickthrough.translation_model:TranslationModel",
        "topics_and_translations": (
            "ssi_core.guests.clickthrough.topics_and_translations:TopicsAndTranslations"
        ),
        "pca": "ssi_core.guests.clickthrough.pca:Pca",
        "opca": "ssi_core.guests.clickthrough.opca:Opca",
        "s2net": "ssi_core.guests.clickthrough.s2net:S2Net",
        "trec_run": "ssi_core.guests.trec_run.trec_run:TrecRun",
    },
    "sources": {
        "feeds": "ssi_core.guests.feeds.source:Feeds",
        "ubi": "ssi_core.guests.click_logs.ubi.source:Ubi",
        "clicks": "ssi_core.guests.click_logs.source:Clicks",
    },
    "targets": {
        "opensearch": "ssi_core.guests.export.targets.opensearch:TARGET",
        "elasticsearch": "ssi_core.guests.export.targets.elasticsearch:TARGET",
        "lucene": "ssi_core.guests.export.targets.lucene:TARGET",
        "qdrant": "ssi_core.guests.export.targets.qdrant:TARGET",
        "vespa": "ssi_core.guests.export.targets.vespa:TARGET",
        "pgvector": "ssi_core.guests.export.targets.pgvector:TARGET",
        "bm25s": "ssi_core.guests.export.targets.bm25s:TARGET",
        "faiss": "ssi_core.guests.export.targets.faiss:TARGET",
        "trec-vectors": "ssi_core.guests.export.targets.trec_vectors:TARGET",
    },
    "hooks": {
        "cluster": "ssi_core.guests.cluster.dask:run_on_cluster",
        "export": "ssi_core.guests.export.face:export",
        "run": "ssi_core.guests.trec_run.runs:named_ranker",
    },
    "summaries": {"sentences": "ssi_core.guests.summary.answers:summarised"},
    "verbs": {
        "export": "ssi_core.guests.export.commands:export",
        "site": "ssi_core.guests.site.commands:site",
        "rank.rerank": "ssi_core.guests.reranking.commands:rerank",
        "rank.codes": "ssi_core.guests.codes.commands:codes",
        "rank.summary": "ssi_core.guests.summary.commands:summary",
        "rank.profiles": "ssi_core.guests.profiles.commands:profiles",
        "rank.feeds": "ssi_core.guests.feeds.commands:feeds",
    },
    "names": {
        "Concepts": "ssi_core.guests.summary.face:Concepts",
        "Hasher": "ssi_core.guests.codes.face:Hasher",
        "Profiles": "ssi_core.guests.profiles.face:Profiles",
        "Reranker": "ssi_core.guests.reranking.face:Reranker",
        "Site": "ssi_core.guests.site.face:Site",
        "read_feeds": "ssi_core.guests.feeds.face:read_feeds",
        "read_folds": "ssi_core.guests.reranking.letor:read_folds",
        "read_letor": "ssi_core.guests.reranking.letor:read_letor",
        "site": "ssi_core.guests.site.face:site",
        "summarise": "ssi_core.guests.summary.face:summarise",
    },
}
"""Registry -> name in it -> ``"module:object"``."""
