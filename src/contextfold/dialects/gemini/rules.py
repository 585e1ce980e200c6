"""What the Gemini API rejects, one small rule each. It changes nothing: repairing is another step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import WirePiece, is_filled, malformed, read_pieces
from contextfold.dialects.wire import Json, lone_surrogate
from contextfold.domain import Problem

from .parse import KINDS, ROLES, held, kind_of, signature


class Content(NamedTuple):
    """One content of a request, as far as it can be read."""

    path: str
    role: object
    parts: tuple[WirePiece, ...]

    def of(self, kind: str) -> list[WirePiece]:
        return [part for part in self.parts if kind_of(part.block) == kind]

    @property
    def is_models(self) -> bool:
        return self.role == "model"


class ContentsRequest(NamedTuple):
    """A request, read once for all rules."""

    body: Json
    contents: list[Content]
    is_signed: bool

    def pairs(self) -> Iterator[tuple[Content | None, Content | None]]:
        """Each content with the next, from nothing before the first to nothing after the last."""
        return pairwise((None, *self.contents, None))


def read_contents(body: Json) -> tuple[list[Content], list[Problem]]:
    """The contents that can be read, and a problem for everything that has not even the form of one."""
    given = body.get("contents")
    if not isinstance(given, Sequence) or isinstance(given, str | bytes) or not given:
        return [], [malformed("contents", "Send a list with at least one content.")]
    contents: list[Content] = []
    problems: list[Problem] = []
    for index, content in enumerate(given):
        path = f"contents[{index}]"
        parts = content.get("parts") if isinstance(content, Mapping) else None
        if not isinstance(content, Mapping):
            problems.append(malformed(path, "A content is an object with role and parts."))
        elif parts is not None and not isinstance(parts, list | tuple):
            problems.append(malformed(f"{path}.parts", "Parts are a list."))
        else:
            pieces = read_pieces(f"{path}.parts", parts or (), problems)
            contents.append(Content(path, content.get("role"), pieces))
    return contents, problems


def unknown_role(asked: ContentsRequest) -> Iterator[Problem]:
    for content in asked.contents:
        if not isinstance(content.role, str | None) or content.role not in ROLES:
            yield Problem(f"{content.path}.role", "unknown-role", "Use 'user' or 'model'.")


def first_from_user(asked: ContentsRequest) -> Iterator[Problem]:
    """A history does not begin with the model, least of all with a call."""
    if asked.contents and asked.contents[0].is_models:
        yield Problem(asked.contents[0].path, "first-from-user", "Put a content of the user's in front.")


def ends_with_model(asked: ContentsRequest) -> Iterator[Problem]:
    """It is the model's turn; an open call at the end is another rule's."""
    if asked.contents and asked.contents[-1].is_models and not asked.contents[-1].of("functionCall"):
        yield Problem(asked.contents[-1].path, "ends-with-model", "End with the user, or with function responses.")


def empty_content(asked: ContentsRequest) -> Iterator[Problem]:
    for content in asked.contents:
        if not content.parts:
            yield Problem(content.path, "empty-content", "Leave the empty content out.")


def empty_part(asked: ContentsRequest) -> Iterator[Problem]:
    """A part holds something; empty words do only with a signature beside them."""
    for content in asked.contents:
        for part in content.parts:
            kind = kind_of(part.block)
            text = part.block.get("text")
            is_empty = kind == "text" and (not isinstance(text, str) or is_blank(text)) and not signature(part.block)
            if is_empty or not part.block:
                yield Problem(part.path, "empty-part", "Leave the empty part out.")


def two_in_a_part(asked: ContentsRequest) -> Iterator[Problem]:
    """A part is one thing: words, a call, a response, a file."""
    for content in asked.contents:
        for part in content.parts:
            kinds = {KINDS[name] for name, value in part.block.items() if name in KINDS and value is not None}
            if len(kinds) > 1:
                yield Problem(part.path, "two-in-a-part", f"Split it into parts: {', '.join(sorted(kinds))}.")


def call_placement(asked: ContentsRequest) -> Iterator[Problem]:
    """A turn with calls comes right after the user's turn or function responses."""
    for before, content in asked.pairs():
        if content is not None and content.of("functionCall") and before is not None and before.is_models:
            yield Problem(content.path, "call-placement", "Join it with the model's content before it.")


def unanswered_call(asked: ContentsRequest) -> Iterator[Problem]:
    """The very next content holds a response to every call."""
    for content, after in asked.pairs():
        calls = content.of("functionCall") if content is not None and content.is_models else []
        responses = after.of("functionResponse") if after is not None and not after.is_models else []
        for call in _unmatched(calls, responses)[0]:
            advice = f"Put a functionResponse to {_shown(call, 'functionCall')} into the next content."
            yield Problem(call.path, "unanswered-call", advice)


def orphan_response(asked: ContentsRequest) -> Iterator[Problem]:
    """Every response answers a call of the content right before it, once."""
    for before, content in asked.pairs():
        calls = before.of("functionCall") if before is not None and before.is_models else []
        responses = content.of("functionResponse") if content is not None and not content.is_models else []
        for response in _unmatched(calls, responses)[1]:
            advice = f"Send the call {_shown(response, 'functionResponse')} right before it, or show it as text."
            yield Problem(response.path, "orphan-response", advice)


def _unmatched(calls: list[WirePiece], responses: list[WirePiece]) -> tuple[list[WirePiece], list[WirePiece]]:
    """Calls without a response and responses without a call: paired by id, and where one has none, by name."""
    open_calls, orphans = list(calls), []
    for response in sorted(responses, key=lambda piece: not _own_id(piece, "functionResponse")):
        wanted, name = _own_id(response, "functionResponse"), _name(response, "functionResponse")
        for call in open_calls:
            own = _own_id(call, "functionCall")
            if own == wanted if own and wanted else _name(call, "functionCall") == name:
                open_calls.remove(call)
                break
        else:
            orphans.append(response)
    return open_calls, orphans


def duplicate_call(asked: ContentsRequest) -> Iterator[Problem]:
    """Ids of calls, where they have some, are unique in the request."""
    seen: set[str] = set()
    for content in asked.contents:
        for call in content.of("functionCall"):
            own = _own_id(call, "functionCall")
            if own and own in seen:
                yield Problem(call.path, "duplicate-call", f"Give the call {own!r} an id of its own, its response too.")
            seen.add(own)


def misplaced_part(asked: ContentsRequest) -> Iterator[Problem]:
    """Calls are the model's, responses the user's."""
    homes = {"functionCall": True, "functionResponse": False}
    for content in asked.contents:
        for part in content.parts:
            home = homes.get(kind_of(part.block))
            if home is not None and home != content.is_models:
                whose = "model" if home else "user"
                yield Problem(part.path, "misplaced-part", f"It belongs into a content of role {whose!r}.")


def malformed_call(asked: ContentsRequest) -> Iterator[Problem]:
    """A call and a response name the function; arguments and response are objects."""
    for content in asked.contents:
        for kind, field in (("functionCall", "args"), ("functionResponse", "response")):
            for part in content.of(kind):
                value = held(part.block, kind)
                inner = value if isinstance(value, Mapping) else {}
                is_left_out = kind == "functionCall" and inner.get(field) is None
                if not is_filled(inner.get("name")) or not (is_left_out or isinstance(inner.get(field), Mapping)):
                    yield Problem(part.path, "malformed-call", f"Give it a name, and an object as {field!r}.")


def missing_signature(asked: ContentsRequest) -> Iterator[Problem]:
    """Where the model signs its calls: the first call of each step since the user spoke carries a signature."""
    spoke = loop_start([(content.is_models, [part.block for part in content.parts]) for content in asked.contents])
    for content in asked.contents[spoke:] if asked.is_signed else ():
        calls = content.of("functionCall") if content.is_models else []
        if calls and not signature(calls[0].block):
            yield Problem(calls[0].path, "missing-signature", "Return the part with its thoughtSignature as it came.")


def loop_start(contents: Sequence[tuple[bool, Sequence[Json]]]) -> int:
    """Where the current loop begins: behind the last content in which the user said more than functions answered."""
    for number in range(len(contents) - 1, -1, -1):
        is_models, parts = contents[number]
        if not is_models and any(kind_of(part) != "functionResponse" for part in parts):
            return number + 1
    return 0


def _own_id(part: WirePiece, kind: str) -> str:
    value = held(part.block, kind)
    own = value.get("id") if isinstance(value, Mapping) else None
    return own if isinstance(own, str) else ""


def _name(part: WirePiece, kind: str) -> object:
    value = held(part.block, kind)
    return value.get("name") if isinstance(value, Mapping) else None


def _shown(part: WirePiece, kind: str) -> str:
    return repr(_own_id(part, kind) or _name(part, kind))


RULES: tuple[Callable[[ContentsRequest], Iterator[Problem]], ...] = (
    unknown_role,
    first_from_user,
    ends_with_model,
    empty_content,
    empty_part,
    two_in_a_part,
    call_placement,
    unanswered_call,
    orphan_response,
    duplicate_call,
    misplaced_part,
    malformed_call,
    missing_signature,
)


def check(body: Mapping[str, Any], is_signed: bool = False) -> list[Problem]:
    """Everything the API would reject in this request."""
    contents, problems = read_contents(body)
    asked = ContentsRequest(body, contents, is_signed)
    problems += lone_surrogate(body)
    return problems + [problem for rule in RULES for problem in rule(asked)]
