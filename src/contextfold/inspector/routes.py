"""How routes are described: a function of the open stores and one typed question, and its typed answer.

The types are the documentation: `description` makes an OpenAPI document of them, and nothing else is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar, get_args, get_type_hints
from urllib.parse import unquote

import msgspec
from msgspec import Meta, Struct

from contextfold.errors import ReadOnly

from .stores import OpenStores, OpenThread

Answer = TypeVar("Answer")
Limit = Annotated[int, Meta(ge=1, le=200)]
Seq = Annotated[int, Meta(ge=1)]
API = "/api/v1"


class InSpace(Struct, frozen=True, kw_only=True):
    """A question about a space of the store; the one that was asked for at the start where none is named."""

    space: str = ""


class OfThread(InSpace, frozen=True, kw_only=True):
    """A question about one thread."""

    thread: str


class OfFold(OfThread, frozen=True, kw_only=True):
    """A question about one fold."""

    fold: Seq


class Blob(Struct, frozen=True):
    """An answer that is no JSON of ours: bytes with a fixed type."""

    kind: str
    data: bytes
    name: str = ""  # to be saved under


class Later(Struct, Generic[Answer], frozen=True):
    """An answer that takes its time and needs the store no longer."""

    work: Callable[[], Answer]


class ApiRoute(Struct, frozen=True):
    """One route: how it is asked, and what answers."""

    method: str
    path: str  # parts in braces are fields of the question
    run: Callable[[OpenStores, Any], object]
    is_light: bool = False  # opens no thread, so it need not wait for those who do

    @property
    def question(self) -> type[Struct]:
        found: type[Struct] = get_type_hints(self.run)["asked"]
        return found

    @property
    def answer(self) -> Any:
        """The type of what comes back, also where it comes later."""
        told = get_type_hints(self.run)["return"]
        return get_args(told)[0] if get_args(told) else told

    def match(self, method: str, path: str) -> dict[str, str] | None:
        """The fields that a path names, where it is this route's."""
        if method != self.method:
            return None
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(API + self.path))
        found = re.fullmatch(pattern, path)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


def changing(stores: OpenStores, asked: OfThread) -> OpenThread:
    """The thread that is to be changed, unless nothing may be."""
    if stores.read_only:
        raise ReadOnly("The store was opened to be read only. Start the inspector without --read-only to change it.")
    return stores.thread(asked.space, asked.thread)


def numbers(text: str) -> tuple[int, ...]:
    """Numbers by commas; whatever is none is left out."""
    return tuple(int(each) for each in text.split(",") if each.isdecimal() and len(each) < 12)


# -- the description --------------------------------------------------------------------------------------------------


def description(routes: Sequence[ApiRoute], version: str) -> dict[str, Any]:
    """The routes as an OpenAPI 3.1 document, written from their types."""
    types = [each for route in routes for each in (route.question, route.answer) if each is not Blob]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    known = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(API + route.path, {})[route.method.lower()] = _operation(route, components, known)
    told = "Answers are JSON unless said otherwise. Every change needs the header x-contextfold-csrf."
    info = {"title": "contextfold inspector", "version": version, "description": told}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": components}}


def _operation(route: ApiRoute, components: Mapping[str, Any], known: Mapping[Any, Any]) -> dict[str, Any]:
    question = components[route.question.__name__]
    in_path = set(re.findall(r"{(\w+)}", route.path))
    fields, required = question.get("properties", {}), question.get("required", [])
    asked = [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in in_path or name in required,
            "schema": schema,
        }
        for name, schema in fields.items()
        if name in in_path or route.method == "GET" or name == "space"
    ]
    kind = "application/octet-stream" if route.answer is Blob else "application/json"
    schema = {"type": "string", "format": "binary"} if route.answer is Blob else known[route.answer]
    summary = (route.run.__doc__ or "").strip().splitlines()[0]
    answers = {"200": {"description": "OK", "content": {kind: {"schema": schema}}}}
    operation: dict[str, Any] = {"summary": summary, "parameters": asked, "responses": answers}
    if route.method == "POST":
        operation["requestBody"] = {"content": {"application/json": {"schema": known[route.question]}}}
    return operation
