"""Whether a value is what a JSON schema says: the keywords that tool definitions use, and no more.

Known: type, enum, const, properties, required, additionalProperties, items, lengths, numbers, pattern, anyOf, oneOf,
allOf, not, prefixItems, patternProperties, and $ref within the schema. Whatever else a schema says is not checked, and
nothing is refused for it: what is not known is allowed. Raises `Unchecked` where a pattern would take too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextfold.domain import encode

from .patterns import has_pattern

DEEPEST = 64

_KEYWORDS = frozenset(
    (
        *("type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties"),
        *("items", "prefixItems", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"),
        *("exclusiveMinimum", "exclusiveMaximum", "pattern", "anyOf", "oneOf", "allOf", "not", "$ref", "$defs"),
        *("title", "description", "default", "examples"),
    )
)

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1."""
    return one == other and encode(one) == encode(other)


def problems(value: Any, schema: Any, root: Any = None, path: str = "", depth: int = 0) -> Iterator[str]:
    """Everything in the value that the schema does not allow, in words."""
    whole = schema if root is None else root
    if schema is True or schema == {}:
        return
    if schema is False:
        yield f"{path or 'the value'} is not allowed"
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return
    if "$ref" in schema:
        yield from problems(value, _referred(schema["$ref"], whole), whole, path, depth + 1)
    yield from _alone(value, schema, path or "the value")
    if isinstance(value, dict):
        yield from _object(value, schema, whole, path, depth)
    elif isinstance(value, list):
        # Elements by their place, then the rest; `items` was a list of schemas before `prefixItems` was there.
        first, rest = schema.get("prefixItems", ()), schema.get("items", True)
        if isinstance(rest, list):
            first, rest = rest, schema.get("additionalItems", True)
        for at, each in enumerate(value):
            own = first[at] if isinstance(first, Sequence) and at < len(first) else rest
            yield from problems(each, own, whole, f"{path}[{at}]", depth + 1)
    yield from _combined(value, schema, whole, path, depth)


def _alone(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """What can be said without looking inside."""
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{path} must be {' or '.join(map(str, kinds))}"
    if "enum" in schema and not any(same(value, each) for each in schema["enum"]):
        yield f"{path} must be one of: {', '.join(str(each) for each in schema['enum'])}"
    if "const" in schema and not same(value, schema["const"]):
        yield f"{path} must be {schema['const']}"
    if isinstance(value, str):
        yield from _bounds(len(value), schema, "minLength", "maxLength", f"the length of {path}")
        if "pattern" in schema and not has_pattern(schema["pattern"], value):
            yield f"{path} must match {schema['pattern']}"
    elif isinstance(value, list):
        yield from _bounds(len(value), schema, "minItems", "maxItems", f"the length of {path}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _bounds(value, schema, "minimum", "maximum", path)
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            yield f"{path} must be more than {schema['exclusiveMinimum']}"
        if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
            yield f"{path} must be less than {schema['exclusiveMaximum']}"


def _object(value: dict[str, Any], schema: Mapping[str, Any], root: Any, path: str, depth: int) -> Iterator[str]:
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    patterns = schema.get("patternProperties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{_below(path, name)} must be given"
    for name, each in value.items():
        fitting = [own for pattern, own in patterns.items() if has_pattern(pattern, name)]
        fitting += [known[name]] if name in known else []
        for own in fitting:
            yield from problems(each, own, root, _below(path, name), depth + 1)
        if fitting or "unevaluatedProperties" in schema:
            continue
        if rest is False:
            yield f"{_below(path, name)} is not known"
        else:
            yield from problems(each, rest, root, _below(path, name), depth + 1)


def _combined(value: Any, schema: Mapping[str, Any], root: Any, path: str, depth: int) -> Iterator[str]:
    def passes(other: Any) -> bool:
        return next(problems(value, other, root, path, depth + 1), None) is None

    for other in schema.get("allOf", ()):
        yield from problems(value, other, root, path, depth + 1)
    if "anyOf" in schema and not any(map(passes, schema["anyOf"])):
        yield f"{path or 'the value'} fits none of what is allowed"
    fitting = [each for each in schema.get("oneOf", ()) if passes(each)]
    if "oneOf" in schema and (not fitting or (len(fitting) > 1 and all(map(_is_known, fitting)))):
        yield f"{path or 'the value'} must fit exactly one of what is allowed"
    if "not" in schema and _is_known(schema["not"]) and passes(schema["not"]):
        yield f"{path or 'the value'} is not allowed"


def _is_known(schema: Any) -> bool:
    """Whether a schema says nothing but what is checked here: only then can fitting it be held against a value."""
    return not isinstance(schema, Mapping) or schema.keys() <= _KEYWORDS


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return kind not in _TYPES or isinstance(value, _TYPES[kind])


def _bounds(size: float, schema: Mapping[str, Any], least: str, most: str, what: str) -> Iterator[str]:
    if least in schema and size < schema[least]:
        yield f"{what} must be at least {schema[least]}"
    if most in schema and size > schema[most]:
        yield f"{what} must be at most {schema[most]}"


def _referred(pointer: str, root: Any) -> Any:
    """What a reference within the schema names; where it leads elsewhere, anything is allowed."""
    if not pointer.startswith("#"):
        return True
    for step in filter(None, pointer.removeprefix("#").strip("/").split("/")):
        plain = step.replace("~1", "/").replace("~0", "~")
        root = root.get(plain, True) if isinstance(root, Mapping) else True
    return root


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
