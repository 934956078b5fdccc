"""Lucene in a process of its own, driven through JPype: index an export, search, explain.

    python lucene.py LUCENE_CORE.jar LIBJVM EXPORT QUERIES.jsonl

It does what ``Ssi.java`` does, where there is no compiler of Java. A JVM in the process of the
tests would take its signals.
"""

import json
import sys
from pathlib import Path

import jpype

K = 10


def main(core: str, jvm: str, export: str, queries: str) -> None:
    jpype.startJVM(jvm, "-Xmx512m", classpath=[core])
    lucene = jpype.JPackage("org.apache.lucene")
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig())
    feature, stored = lucene.document.FeatureField, lucene.document.StoredField
    for file in sorted((Path(export) / "documents").iterdir()):
        for line in file.read_text(encoding="utf-8").splitlines():
            name, _, terms = line.split("\t")
            document = lucene.document.Document()
            document.add(stored("id", name))
            for term, weight in json.loads(terms).items():
                document.add(feature("ssi", term, jpype.JFloat(weight)))
            writer.addDocument(document)
    writer.close()
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    lucene.search.IndexSearcher.setMaxClauseCount(1 << 16)
    should = lucene.search.BooleanClause.Occur.SHOULD
    for line in Path(queries).read_text(encoding="utf-8").splitlines():
        query = lucene.search.BooleanQuery.Builder()
        for term, weight in json.loads(line).items():
            query.add(feature.newLinearQuery("ssi", term, jpype.JFloat(weight)), should)
        built = query.build()
        hits = searcher.search(built, K).scoreDocs
        fields = searcher.storedFields()
        print(
            json.dumps(
                {
                    "ids": [str(fields.document(hit.doc).get("id")) for hit in hits],
                    "scores": [float(hit.score) for hit in hits],
                    "why": str(searcher.explain(built, hits[0].doc)) if len(hits) else "",
                }
            )
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
