"""What is sent to OpenSearch and Elasticsearch, against the schemas that their references give.

The schemas hold the part of each reference that an export uses; nothing else may be in a request.
"""

import json

import pytest
from jsonschema import Draft202012Validator

from ssi_core.guests.export.encoder import Encoder
from tests.guests.export.test_export import exported, lines


def of_object(**properties):
    """Schema of an object that has these properties, and no others."""
    names = list(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


WEIGHTS = {
    # A map from a feature, whose name has no dot, to a number above zero.
    "type": "object",
    "propertyNames": {"pattern": r"^[^.]+$", "maxLength": 32_766},
    "additionalProperties": {"type": "number", "exclusiveMinimum": 0},
}
QUERY_WEIGHTS = WEIGHTS | {
    "additionalProperties": {"type": "number", "exclusiveMinimum": 0, "maximum": 64}
}
ACTION = of_object(index=of_object(_id={"type": "string", "minLength": 1, "maxLength": 512}))
DOCUMENT = of_object(title={"type": "string"}, ssi=WEIGHTS)


def mapping(kind):
    fields = of_object(title=of_object(type={"const": "text"}), ssi=of_object(type={"const": kind}))
    strict = {"enum": [True, False, "strict", "runtime"]}
    return of_object(mappings=of_object(dynamic=strict, properties=fields))


def searches(query):
    rest = {"size": {"type": "integer", "minimum": 0}, "_source": {"type": "array"}}
    rescore = of_object(
        window_size={"type": "integer", "maximum": 10_000},
        query=of_object(rescore_query=query),
    )
    return {
        "query": of_object(**rest, query=query),
        "rescore": of_object(**rest, query=query, rescore=rescore),
    }


ENGINES = {
    "opensearch": (
        mapping("rank_features"),
        searches(of_object(neural_sparse=of_object(ssi=of_object(query_tokens=QUERY_WEIGHTS)))),
    ),
    "elasticsearch": (
        mapping("sparse_vector"),
        searches(
            of_object(
                sparse_vector=of_object(
                    field={"const": "ssi"}, query_vector=QUERY_WEIGHTS, prune={"const": False}
                )
            )
        ),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["U'V + D", "BM25 + U'V", "LSI"])
def test_requests_are_of_the_schema_of_the_engine(models, task, tmp_path, engine, name):
    wanted_mapping, wanted_searches = ENGINES[engine]
    exported(models, task, tmp_path / "out", engine, name)
    index = json.loads((tmp_path / "out" / "index.json").read_text(encoding="utf-8"))
    Draft202012Validator(wanted_mapping).validate(index)
    rows = [json.loads(line) for line in lines(tmp_path / "out" / "bulk")]
    for schema, part in ((ACTION, rows[::2]), (DOCUMENT, rows[1::2])):
        validator = Draft202012Validator(schema)
        for row in part:
            validator.validate(row)
    encoder = Encoder(tmp_path / "out" / "encoder.json")
    assert set(encoder.model["bodies"]) == ({"query"} if name == "LSI" else {"query", "rescore"})
    for body in encoder.model["bodies"]:
        validator = Draft202012Validator(wanted_searches[body])
        validator.validate(encoder.query("music1 common2 " * 40, 10, body))


def test_a_bulk_file_ends_with_a_line_break(models, task, tmp_path):
    exported(models, task, tmp_path / "out")
    assert all(file.read_bytes()[-1:] == b"\n" for file in (tmp_path / "out" / "bulk").iterdir())
