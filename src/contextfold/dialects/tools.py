"""Definitions of tools between wire formats: a name, what it does, and a JSON Schema, spelled in four ways.

A definition written for the dialect it is sent in passes untouched. A provider's own tool (its search, its shell) means
nothing elsewhere: it is left out, and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Raw

from contextfold.deferred import expression
from contextfold.domain import decode

from .wire import Json

_EMPTY: Json = {"type": "object", "properties": {}}
_FREE_TEXT: Json = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_DATED = expression(r"_\d{8}$")  # Anthropic's own tools carry the date of their version
_DATED_LONG = expression(r"_\d{4}_\d{2}_\d{2}$")  # and some of OpenAI's
_ANTHROPIC = frozenset({"mcp_toolset", "tool_search_tool_bm25", "tool_search_tool_regex"})
_RESPONSES = frozenset(
    {
        "apply_patch",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "programmatic_tool_calling",
        "shell",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)


class Function(NamedTuple):
    """A tool that the caller runs."""

    name: str
    description: str | None
    schema: Json
    is_strict: bool = False  # the model is held to the schema
    text_format: Json | None = None  # it takes free text, in a form of this kind: `{"type": "text"}` is any

    @property
    def described(self) -> dict[str, object]:
        """Name and description, where there is one, as every format spells them."""
        return {"name": self.name, **({} if self.description is None else {"description": self.description})}


class ToolDefinition(NamedTuple):
    """One entry of a list of tools: in which dialect it is written, and the functions in it; none in a provider's own.

    An entry that nobody recognises has no dialect and goes wherever it is sent.
    """

    dialect: str
    functions: tuple[Function, ...]
    entry: Any


def read(tools: object) -> list[ToolDefinition]:
    """The definitions in whatever a caller gave as tools."""
    if isinstance(tools, Raw):
        tools = decode(bytes(tools))
    return [_definition(tool) for tool in tools] if isinstance(tools, Sequence) and not isinstance(tools, str) else []


def _definition(tool: Any) -> ToolDefinition:
    match tool:
        case {"type": "function", "function": {"name": str(name)} as function}:
            return ToolDefinition("openai-chat", (_function(name, function, "parameters"),), tool)
        case {"type": "function", "name": str(name)}:
            return ToolDefinition("openai-responses", (_function(name, tool, "parameters"),), tool)
        case {"name": str(name), "input_schema": _}:
            return ToolDefinition("anthropic", (_function(name, tool, "input_schema"),), tool)
        case {"type": "custom", "custom": {"name": str(name)} as custom}:
            return ToolDefinition("openai-chat", (_free_text(name, custom),), tool)
        case {"type": "custom", "name": str(name)}:
            return ToolDefinition("openai-responses", (_free_text(name, tool),), tool)
        case {"type": "namespace", "tools": list(inner)}:
            functions = tuple(one for each in inner for one in _definition(each).functions)
            return ToolDefinition("openai-responses", functions, tool)
        case {"functionDeclarations": list(declared)} | {"function_declarations": list(declared)}:
            return ToolDefinition("gemini", tuple(_declared(each) for each in declared if "name" in each), tool)
        case {"type": str(kind)}:
            return ToolDefinition(_owner(kind), (), tool)
        case dict() if tool and "name" not in tool:
            return ToolDefinition("gemini", (), tool)
        case _:
            return ToolDefinition("", (), tool)


def _owner(kind: str) -> str:
    """Whose own tool this is; empty where nobody knows it."""
    if _DATED.search(kind) or kind in _ANTHROPIC:
        return "anthropic"
    return "openai-responses" if _DATED_LONG.sub("", kind) in _RESPONSES else ""


def _function(name: str, given: Mapping[str, Any], schema: str) -> Function:
    return Function(name, _description(given), given.get(schema) or _EMPTY, given.get("strict") is True)


def _free_text(name: str, given: Mapping[str, Any]) -> Function:
    """A tool that is given words instead of an object; a grammar is spelled as Responses do."""
    match given.get("format"):
        case {"type": "grammar", "grammar": dict(grammar)}:
            form: Json = {"type": "grammar", **grammar}
        case dict(other):
            form = other
        case _:
            form = {"type": "text"}
    return Function(name, _description(given), _FREE_TEXT, text_format=form)


def _description(given: Mapping[str, Any]) -> str | None:
    described = given.get("description")
    return described if isinstance(described, str) else None


def _declared(given: Mapping[str, Any]) -> Function:
    for field in ("parametersJsonSchema", "parameters_json_schema"):
        if given.get(field):
            return _function(given["name"], given, field)
    plain = _function(given["name"], given, "parameters")
    return plain._replace(schema=_lowered(plain.schema))


def _lowered(schema: Any) -> Any:
    """Gemini writes the types of a schema in capitals."""
    if isinstance(schema, Mapping):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
            for key, value in schema.items()
        }
    return [_lowered(each) for each in schema] if isinstance(schema, list) else schema


def written(tools: object, dialect: str) -> object:
    """The tools as this dialect spells them; what is no list of tools goes as it is."""
    found = read(tools)
    if all(each.dialect in (dialect, "") for each in found):
        return tools
    entries = [entry for each in found for entry in _entries(each, dialect)]
    if dialect == "gemini":
        foreign = [one for each in found if each.dialect not in ("gemini", "") for one in each.functions]
        declared = [{**one.described, "parametersJsonSchema": one.schema} for one in foreign]
        entries += [{"functionDeclarations": declared}] if declared else []
    return entries


def defined(tools: Sequence[Mapping[str, Any]], dialect: str) -> list[Mapping[str, Any]]:
    """Definitions of tools as a request of this dialect holds them."""
    spelled = written(tools, dialect.partition("/")[0])
    return list(spelled) if isinstance(spelled, Sequence) else []


def offered(settings: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """The settings with their tools spelled for the dialect; without any where none of them can be offered."""
    spelled = {**settings, "tools": written(settings["tools"], dialect)} if "tools" in settings else dict(settings)
    if spelled.get("tools") == [] and settings["tools"]:
        del spelled["tools"]
    return spelled


def _entries(definition: ToolDefinition, dialect: str) -> Iterator[object]:
    if definition.dialect in (dialect, ""):
        yield definition.entry
        return
    for function in definition.functions:
        match dialect:
            case "anthropic":
                yield {**function.described, "input_schema": function.schema, **_strict(function)}
            case "openai-chat":
                yield _for_chat(function)
            case "openai-responses":
                yield _for_responses(function)
            case _:
                pass


def _strict(function: Function) -> dict[str, object]:
    return {"strict": True} if function.is_strict else {}


def _for_chat(function: Function) -> Json:
    if function.text_format is None:
        described = {**function.described, "parameters": function.schema, **_strict(function)}
        return {"type": "function", "function": described}
    form = function.text_format
    if form.get("type") == "grammar":
        form = {"type": "grammar", "grammar": {name: value for name, value in form.items() if name != "type"}}
    return {"type": "custom", "custom": {**function.described, "format": form}}


def _for_responses(function: Function) -> Json:
    if function.text_format is not None:
        return {"type": "custom", **function.described, "format": function.text_format}
    # Strict unless it says otherwise, alone among the four: a schema written elsewhere may not be.
    beside = {"parameters": function.schema, "strict": function.is_strict}
    return {"type": "function", **function.described, **beside}


def losses(tools: object, dialect: str) -> tuple[str, ...]:
    """What of these tools the dialect cannot offer as it was, in words."""
    foreign = (each for each in read(tools) if each.dialect not in (dialect, ""))
    return tuple(loss for each in foreign for loss in _lost(each, dialect))


def _lost(definition: ToolDefinition, dialect: str) -> Iterator[str]:
    if not definition.functions:
        yield f"the tool {_name(definition.entry)} is left out: it runs at its provider"
    elif definition.entry.get("type") == "namespace":
        yield f"the tools of {_name(definition.entry)} are offered without their namespace"
    for function in definition.functions:
        if function.text_format is not None and not dialect.startswith("openai"):
            yield f"the tool {function.name!r} takes free text: it is offered with one field, 'input', and no grammar"
        if function.is_strict and dialect == "gemini":
            yield f"the tool {function.name!r} is offered without 'strict': Gemini does not hold a model to a schema"


def _name(entry: Mapping[str, Any]) -> str:
    return repr(str(entry.get("name") or entry.get("type") or next(iter(entry), "")))
