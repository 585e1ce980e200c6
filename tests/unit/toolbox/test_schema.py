"""The part of JSON schema that tool definitions use."""

from typing import Any

import pytest

from contextfold.toolbox import problems

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ["", "x"], [1, None, True, [], {}]),
        ({"type": "integer"}, [1, 0, -3, 2.0], [1.5, True, "1"]),
        ({"type": "number"}, [1, 1.5], [True, "1", None]),
        ({"type": "boolean"}, [True, False], [0, 1, "true"]),
        ({"type": ["string", "null"]}, ["x", None], [1]),
        ({"type": "null"}, [None], [0, ""]),
        ({"enum": ["a", 1]}, ["a", 1], ["b", True, 1.0]),
        ({"const": 1}, [1], [True, 2]),
        ({"minimum": 2, "maximum": 5}, [2, 5], [1, 6]),
        ({"exclusiveMinimum": 2, "exclusiveMaximum": 5}, [3], [2, 5]),
        ({"minLength": 1, "maxLength": 3}, ["a", "abc"], ["", "abcd"]),
        ({"pattern": "^a+$"}, ["aa"], ["ab"]),
        ({"pattern": "("}, ["("], []),
        (
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
            [[1], [1, 2]],
            [[], [1, 2, 3], ["a"]],
        ),
        (
            {"required": ["a"], "properties": {"a": {"type": "string"}}},
            [{"a": "x"}, {"a": "x", "b": 1}],
            [{}, {"a": 1}],
        ),
        ({"additionalProperties": False, "properties": {"a": {}}}, [{}, {"a": 1}], [{"b": 1}]),
        ({"additionalProperties": {"type": "integer"}}, [{"x": 1}], [{"x": "1"}]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["x", 1], [None]),
        ({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, [0, 9], [2]),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, [2], [0, 9]),
        ({"not": {"type": "string"}}, [1], ["x"]),
        ({"$ref": "#/$defs/node", "$defs": {"node": NODE}}, [{"next": {"next": {}}}], [{"next": {"other": 1}}]),
        ({"$ref": "elsewhere.json"}, [1], []),
        (True, [1], []),
        (False, [], [1]),
        ({}, [1, None], []),
    ],
)
def test_a_value_is_what_its_schema_says(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if list(problems(value, schema))] == []
    assert [value for value in bad if not list(problems(value, schema))] == []


def test_a_problem_says_where_it_is() -> None:
    schema = {"properties": {"files": {"type": "array", "items": {"required": ["path"]}}}}
    assert list(problems({"files": [{"path": "x"}, {}]}, schema)) == ["files[1].path must be given"]


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    assert list(problems(1, {"$ref": "#"})) == []


@pytest.mark.finding("N14")
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
            [{"x-a": "b"}],
            [{"x-a": 1}, {"y": 1}],
        ),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, [["a", 1]], [["a", 1, 2], [1]]),
        ({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, [["a", 1]], [["a", "b"]]),
        ({"contains": {"type": "string"}, "$anchor": "a", "if": {}, "then": False}, [[1], {}, "x"], []),
        ({"not": {"contains": {"type": "string"}}}, [[1]], []),
        ({"oneOf": [{"format": "ipv4"}, {"format": "ipv6"}]}, ["::1"], []),
        ({"type": "decimal"}, [1, "x"], []),
        ({"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}, [{"a": 1}], []),
        ({"properties": {"a": "not a schema"}}, [{"a": 1}], []),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, ["x"], [1]),
    ],
)
def test_nothing_is_refused_for_what_is_not_known(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if list(problems(value, schema))] == []
    assert [value for value in bad if not list(problems(value, schema))] == []
