"""Which dialects there are, and how whatever a caller hands us is read as a message in one of them.

A new dialect is its own package and one line here; others come by entry point. None is imported before it is named, or
asked whether a message is its own. A dict, JSON bytes, an SDK's object or a provider's whole answer is read in the
dialect that the caller names, else in the one that its shape tells. A list is what one side said in several items.
Nothing of what is given changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from contextfold.deferred import deferred
from contextfold.domain import MOST_DEPTH, Message, Reply, decode, encode, refuse_deep, refuse_deep_json, too_deep
from contextfold.errors import BadConfiguration, BadMessage
from contextfold.models import Model

from .dialect import Dialect

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = deferred("importlib.metadata")

GROUP = "contextfold.dialects"
OURS: Mapping[str, tuple[str, str]] = {
    "anthropic": ("contextfold.dialects.anthropic", "AnthropicDialect"),
    "openai-chat": ("contextfold.dialects.openai_chat", "OpenAIChatDialect"),
    "openai-responses": ("contextfold.dialects.openai_responses", "OpenAIResponsesDialect"),
    "gemini": ("contextfold.dialects.gemini", "GeminiDialect"),
}
# Frameworks' own messages: read where they are named, never guessed.
FRAMEWORKS: Mapping[str, tuple[str, str]] = {
    "agent-framework": ("contextfold.dialects.agent_framework", "AgentFrameworkDialect"),
    "langchain": ("contextfold.dialects.langchain", "LangChainDialect"),
    "pydantic-ai": ("contextfold.dialects.pydantic_ai", "PydanticAIDialect"),
}
MOST_SPOKEN = "openai-chat"
_SIDES = ("user", "assistant", "system")


def find(name: str) -> Dialect:
    """The dialect of this name; behind a colon, its flavour."""
    plain, colon, flavour = name.partition(":")
    found = _loaded(plain)
    return found.in_flavour(flavour) if colon else found


def spoken(model: Model) -> str:
    """The dialect a model is spoken to in, with its flavour; the one most servers understand where nobody knows."""
    return suited(known(model.dialect) or MOST_SPOKEN, model)


def suited(dialect: str, model: Model) -> str:
    """The dialect in the flavour this model wants; a flavour that was asked for by name stays."""
    flavour = "" if ":" in dialect else find(dialect).flavoured(model)
    return f"{dialect}:{flavour}" if flavour else dialect


def all_known() -> tuple[Dialect, ...]:
    """Every dialect of this house."""
    return tuple(map(_loaded, OURS))


def known(name: str) -> str:
    """The name itself if there is such a dialect, ours looked at first; else nothing."""
    plain = name.partition(":")[0]
    return name if plain in OURS or plain in FRAMEWORKS or (plain and plain in names()) else ""


def names() -> tuple[str, ...]:
    """Every dialect that can be found, ours first."""
    further = metadata.entry_points(group=GROUP)
    return (*OURS, *sorted(entry.name for entry in further if entry.name not in OURS))


@cache
def _loaded(name: str) -> Dialect:
    """The dialect of this plain name: ours, a framework's, or what an entry point names (itself, or its class)."""
    if home := OURS.get(name) or FRAMEWORKS.get(name):
        ours: Dialect = getattr(import_module(home[0]), home[1])()
        return ours
    for entry in metadata.entry_points(group=GROUP, name=name):
        found = entry.load()
        dialect: Dialect = found() if isinstance(found, type) else found
        return dialect
    raise BadConfiguration(f"There is no dialect {name!r}. Use one of: {', '.join(names())}.")


def first_asked(name: str) -> tuple[Dialect, ...]:
    """The dialect of this name, which may come from outside, then every other of this house."""
    own = [find(name)] if known(name) else []
    return (*own, *(_loaded(each) for each in OURS if each != name.partition(":")[0]))


def claimed_by(value: Mapping[str, Any]) -> Dialect | None:
    """The dialect of this house that a message is written in; None where it would read the same in several."""
    claims = [dialect for dialect in all_known() if dialect.claims(value)]
    return claims[0] if len(claims) == 1 else None


def detect(value: Mapping[str, Any]) -> str | None:
    """The name of the dialect a message is written in; None where it would read the same in several."""
    found = claimed_by(value)
    return None if found is None else found.name


def reading(value: Mapping[str, Any], default: str, named: str | None = None) -> str:
    """The dialect to read a message in: the named one, else the one that claims it, else the default if it can read it.

    A message that is written in two of them at once is refused: whoever read it would miss a part.
    """
    chosen = (named or default).partition(":")[0]
    if chosen not in OURS and (named or find(default).claims(value)):
        return named or default  # what comes from outside knows its own
    claims = [name for name in OURS if _loaded(name).claims(value)]
    if len(claims) > 1 or (named and claims and claims != [chosen]):
        raise BadMessage(_mixed(claims, named))
    if named or claims:
        return named or claims[0]
    return default if find(default).reads(value) else MOST_SPOKEN


def _mixed(claims: Sequence[str], named: str | None) -> str:
    written = " and ".join(claims)
    if named and named not in claims:
        return f"This message was named {named}, and holds what only {written} writes. Name that, or name none."
    return (
        f"This message is written in several formats at once: {written}. One of them would not see the other's calls, "
        "reasoning or results. Write it in one format."
    )


def joined(values: Sequence[object], default: str) -> Dialect | None:
    """The dialect in which a list is one message, said in several items; None where it is several messages."""
    items = [each for each in values if isinstance(each, Mapping)]
    for dialect in first_asked(default) if len(items) == len(values) else ():
        is_expected = dialect.name == default.partition(":")[0] or any(detect(each) == dialect.name for each in items)
        if dialect.is_written_in_items and is_expected:
            return dialect if all(reading(each, dialect.name) == dialect.name for each in items) else None
    return None


def is_words_only(value: Mapping[str, Any]) -> bool:
    """Whether it is a role and words and nothing else: no dialect of this house claims that, and none answers so."""
    if len(value) != 2 or type(value.get("content")) is not str:
        return False
    role = value.get("role")
    return type(role) is str and role in _SIDES


def plain_reader(value: Mapping[str, Any], default: str) -> Dialect | None:
    """Who reads words that nobody claims, so that nobody else need be asked; None where all must be."""
    if default.partition(":")[0] not in OURS or not is_words_only(value):
        return None
    chosen = find(default)
    return chosen if chosen.reads(value) else _loaded(MOST_SPOKEN)


def answer_in(body: Mapping[str, Any], default: str, named: str | None = None) -> Reply | None:
    """The message inside a whole API answer; None where the body is not an answer of the named API, or of any."""
    is_ours = (named or default).partition(":")[0] in ("", *OURS)
    if is_ours and "role" in body and "type" not in body:  # a message: no API of this house answers so
        return None
    asked = (find(named),) if named else first_asked(default)
    answers = (dialect.reply(body) for dialect in asked)
    return next((answer for answer in answers if answer is not None), None)


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The message inside a whole answer of any API of this house."""
    return answer_in(body, "")


_ANTHROPIC = ("system", "thinking", "stop_sequences", "anthropic_version", "top_k", "context_management")
_CHAT = ("max_completion_tokens", "response_format", "stream_options", "stop", "n", "seed", "reasoning_effort")


def asked_in(body: Mapping[str, Any], model: Model | None = None) -> str:
    """The dialect of a request, by what only one of them has; the model decides where nothing in it tells."""
    if "contents" in body:
        return "gemini"
    if "messages" not in body:
        return "openai-responses"
    told = _by_messages(body["messages"]) or _by_fields(body)
    by_model = spoken(model) if model is not None and model.dialect in ("anthropic", "openai-chat") else ""
    if told and by_model.partition(":")[0] != told:
        return told
    return by_model or "openai-chat"


def _by_messages(messages: object) -> str:
    for message in messages if isinstance(messages, list | tuple) else ():
        found = detect(message) if isinstance(message, Mapping) else None
        if found in ("anthropic", "openai-chat"):
            return found
        if isinstance(message, Mapping) and message.get("role") in ("system", "developer"):
            return "openai-chat"
    return ""


def _by_fields(body: Mapping[str, Any]) -> str:
    tools = body.get("tools")
    first = tools[0] if isinstance(tools, list | tuple) and tools else None
    if isinstance(first, Mapping) and ("input_schema" in first or "function" in first):
        return "anthropic" if "input_schema" in first else "openai-chat"
    if any(field in body for field in _ANTHROPIC):
        return "anthropic"
    return "openai-chat" if any(field in body for field in _CHAT) else ""


# How SDK objects become plain data, under the names the wire has: pydantic's way, and two others.
_DUMPS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("model_dump", {"mode": "json", "by_alias": True, "exclude_unset": True}),
    ("to_dict", {}),
    ("to_json_dict", {}),
)


def understand(given: object, default: str, named: str | None = None) -> Reply:
    """The message in it: in the dialect that the caller `named`, else in the one it is written in.

    `default` decides where several dialects write the same.
    """
    if type(given) is dict and not named and (reader := plain_reader(given, default)) is not None:
        return Reply(reader.words(given["role"], given["content"], encode(given)))  # most messages
    raw = bytes(given) if isinstance(given, bytes | bytearray | memoryview) else None
    value = _read(given)
    is_list = isinstance(value, list)
    dialect = find(named) if named else joined(value, default) if is_list else None
    if not isinstance(value, Mapping) and not (is_list and dialect is not None and dialect.is_written_in_items):
        raise BadMessage(f"A message is a JSON object with a role; this is {_kind(value)}. Pass one message at a time.")
    if not is_list and not named and (reader := plain_reader(value, default)) is not None:
        dialect = reader
    elif not is_list:
        answer = answer_in(value, default, named)
        if answer is not None:
            return answer
        dialect = find(reading(value, default, named))
    assert dialect is not None  # noqa: S101  # a list without one was refused above
    raw = encode(value) if raw is None else raw
    del value  # it is read again, and may be many times as large as its bytes
    return Reply(dialect.parse(raw))


def refuse_empty(message: Message) -> None:
    """At the door a message has content, if an empty one as recorded histories do; an answer may be all silence."""
    if message.blocks or message.role == "assistant":
        return
    value = decode(message.raw)
    if not isinstance(value, Mapping) or {"content", "parts"}.isdisjoint(value):
        raise BadMessage(f"This message of the {message.role} has no content. Give it some, or leave it out.")


def together(messages: Iterable[object], named: str | None = None) -> Iterator[object]:
    """Messages one by one; the items that are one answer of the model come as one."""
    for is_answer, group in groupby(messages, key=lambda given: _is_of_an_answer(given, named)):
        items = list(group)
        if is_answer and len(items) > 1:
            yield [_read(item) for item in items]
        else:
            yield from items


def _is_of_an_answer(given: object, named: str | None) -> bool:
    """Whether it is an item that the model said; a message by itself, of this or any other API, is none."""
    if isinstance(given, str | list | tuple) or given is None:
        return False
    value = _read(given)
    if not isinstance(value, Mapping) or answer_in(value, "", named) is not None:
        return False
    dialect = find(named) if named else claimed_by(value)
    return dialect is not None and dialect.is_of_an_answer(value)


def _read(given: object) -> Any:
    """The plain data of something that a caller handed in; raises `BadMessage` where it is nested too deeply."""
    if not isinstance(given, bytes | bytearray | memoryview):
        return plain(given)
    raw = bytes(given)
    value = decode(raw)
    refuse_deep_json(raw, value)
    return value


def plain(given: object) -> Any:
    """Plain data: SDK objects say themselves how they become it; a kind of string is a string.

    Raises `BadMessage` where it is nested too deeply, or holds itself.
    """
    try:
        value = _plain(given, 0)
    except RecursionError as error:  # whoever called stands deep in the stack
        raise too_deep("message") from error
    return value


def _plain(given: object, depth: int) -> Any:
    if isinstance(given, Mapping | list | tuple) and depth >= MOST_DEPTH:
        raise too_deep("message")
    if isinstance(given, Mapping):
        return {name: _plain(each, depth + 1) for name, each in given.items()}
    if isinstance(given, list | tuple):
        return [_plain(each, depth + 1) for each in given]
    if isinstance(given, str):
        return str.__str__(given)
    for method, options in _DUMPS:
        dump = getattr(given, method, None)
        if callable(dump):
            dumped = dump(**{**options, **_further(given, method)})
            refuse_deep(dumped)
            return dumped
    return given


def _further(given: object, method: str) -> Mapping[str, Any]:
    """Google's objects set what they leave empty, which its API does not want back, and may leave a role unset."""
    is_googles = type(given).__module__.startswith("google.")
    return {"exclude_none": True, "exclude_unset": False} if is_googles and method == "model_dump" else {}


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
