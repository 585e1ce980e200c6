"""Several answers of a model as one for a client that must not see some of its calls: streamed events, and bodies.

The client gets one message: places are counted on, what a provider billed is summed, and the end comes once. Reasoning
of later answers is left out, because its provider would look for the calls between. Nothing is sent from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

Json = dict[str, Any]


class Splice(Protocol):
    """One answer in the making out of several."""

    def take(self, event: Json) -> Sequence[Json]:
        """What the client sees of an event, now."""
        ...

    def goes_on(self) -> None:
        """Another answer follows."""
        ...

    def end(self) -> Sequence[Json]:
        """What the client sees at the end of the last one."""
        ...

    def whole(self, bodies: Sequence[Json]) -> Json:
        """The same for answers that were not streamed."""
        ...


def summed(bills: Iterable[Mapping[str, Any] | None]) -> Json:
    """Numbers added up, inside of details too."""
    total: Json = {}
    for bill in bills:
        for name, value in (bill or {}).items():
            if isinstance(value, Mapping):
                total[name] = summed([total.get(name), value])
            elif isinstance(value, int | float) and not isinstance(value, bool):
                total[name] = (total.get(name) or 0) + value
            else:
                total.setdefault(name, value)
    return total


def written(event: Json, *, is_named: bool) -> bytes:
    """An event as it stands in a stream."""
    name = f"event: {event['type']}\n".encode() if is_named else b""
    return name + b"data: " + encode(event) + b"\n\n"


class MessagesSplice:
    """Anthropic Messages."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._hidden, self._round, self._next = hidden, 0, 0
        self._places: dict[int, int | None] = {}
        self._bills: list[Json] = []
        self._held: list[Json] = []
        self._calls = 0

    def take(self, event: Json) -> Sequence[Json]:
        kind = event.get("type")
        if kind == "message_start":
            self._bills.append({**event["message"].get("usage", {}), "output_tokens": 0} if self._round else {})
            return [] if self._round else [event]
        if kind in ("message_delta", "message_stop"):
            self._held.append(event)
            return []
        if "index" not in event:
            return [event]
        if kind == "content_block_start":
            shown = self._is_shown(event["content_block"])
            self._places[event["index"]] = self._next if shown else None
            self._next += shown
        place = self._places.get(event["index"])
        return [] if place is None else [{**event, "index": place}]

    def _is_shown(self, block: Json) -> bool:
        is_ours = block.get("type") == "tool_use" and block.get("name") in self._hidden
        self._calls += block.get("type") == "tool_use" and not is_ours
        return not is_ours and not (self._round and "thinking" in str(block.get("type")))

    def goes_on(self) -> None:
        self._round += 1
        self._places = {}
        self._bills += [each.get("usage", {}) for each in self._held]
        self._held = []

    def end(self) -> Sequence[Json]:
        ended: list[Json] = []
        for event in self._held:
            if event["type"] == "message_delta":
                delta = event.get("delta", {})
                reason = _reason(delta.get("stop_reason"), "tool_use", "end_turn", has_calls=bool(self._calls))
                usage = summed([*self._bills, event.get("usage")])
                event = {**event, "delta": {**delta, "stop_reason": reason}, "usage": usage}
            ended.append(event)
        return ended

    def whole(self, bodies: Sequence[Json]) -> Json:
        content = []
        for self._round, body in enumerate(bodies):
            content += [block for block in body.get("content", []) if self._is_shown(block)]
        reason = _reason(bodies[-1].get("stop_reason"), "tool_use", "end_turn", has_calls=bool(self._calls))
        usage = summed(body.get("usage") for body in bodies)
        return {**bodies[-1], "id": bodies[0].get("id"), "content": content, "stop_reason": reason, "usage": usage}


class ChatSplice:
    """OpenAI Chat Completions."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._hidden, self._round = hidden, 0
        self._places: dict[int, int | None] = {}
        self._next = 0
        self._id: object = None
        self._end: Json | None = None
        self._bills: list[Json] = []

    def take(self, event: Json) -> Sequence[Json]:
        self._id = self._id or event.get("id")
        event = {**event, "id": self._id}
        if event.get("usage"):
            self._bills.append(event["usage"])
        if not event.get("choices"):
            return []
        choice = event["choices"][0]
        delta = {name: value for name, value in choice.get("delta", {}).items() if not (self._round and name == "role")}
        if calls := delta.pop("tool_calls", None):
            shown: list[Json] = []
            for call in calls:
                index = call.get("index", 0)
                if index not in self._places:
                    is_ours = call.get("function", {}).get("name") in self._hidden
                    self._places[index] = None if is_ours else self._next
                    self._next += not is_ours
                if (place := self._places[index]) is not None:
                    shown.append({**call, "index": place})
            delta |= {"tool_calls": shown} if shown else {}
        if choice.get("finish_reason"):
            self._end = {**event, "choices": [{**choice, "delta": {}}]}
        event = {**event, "choices": [{**choice, "delta": delta, "finish_reason": None}]}
        event.pop("usage", None)
        return [event] if delta else []

    def goes_on(self) -> None:
        self._round += 1
        self._places, self._end = {}, None

    def end(self) -> Sequence[Json]:
        if self._end is None:
            return []
        choice = self._end["choices"][0]
        reason = _reason(choice["finish_reason"], "tool_calls", "stop", has_calls=bool(self._next))
        last = {**self._end, "choices": [{**choice, "finish_reason": reason}]}
        last.pop("usage", None)
        return [last, {**last, "choices": [], "usage": summed(self._bills)}] if self._bills else [last]

    def whole(self, bodies: Sequence[Json]) -> Json:
        said = [body["choices"][0]["message"] for body in bodies]
        called = [call for each in said for call in each.get("tool_calls") or ()]
        calls = [call for call in called if call.get("function", {}).get("name") not in self._hidden]
        text = "".join(each.get("content") or "" for each in said)
        message = {**said[-1], "content": text or None}
        message.pop("tool_calls", None)
        message |= {"tool_calls": calls} if calls else {}
        choice = bodies[-1]["choices"][0]
        reason = _reason(choice.get("finish_reason"), "tool_calls", "stop", has_calls=bool(calls))
        choices = [{**choice, "message": message, "finish_reason": reason}]
        usage = {"usage": summed(body.get("usage") for body in bodies)} if bodies[-1].get("usage") else {}
        return {**bodies[-1], "id": bodies[0].get("id"), "choices": choices, **usage}


class ResponsesSplice:
    """OpenAI Responses."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._hidden, self._round, self._next, self._sent = hidden, 0, 0, 0
        self._places: dict[int, int | None] = {}
        self._bodies: list[Json] = []
        self._end: Json | None = None
        self._id: Json = {}  # by which the client knows the answer since it began

    def take(self, event: Json) -> Sequence[Json]:
        kind = event.get("type", "")
        if "output_index" in event:
            index = event["output_index"]
            if kind == "response.output_item.added":
                shown = self._is_shown(event["item"])
                self._places[index] = self._next if shown else None
                self._next += shown
            place = self._places.get(index)
            return [] if place is None else [self._numbered({**event, "output_index": place})]
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self._bodies.append(event["response"])
            self._end = event
            return []
        if kind == "response.created" and not self._round:
            self._id = {"id": event["response"].get("id")}
        is_begun = self._round and kind in ("response.created", "response.in_progress", "response.queued")
        return [] if is_begun else [self._numbered(event)]

    def _numbered(self, event: Json) -> Json:
        self._sent += 1
        return {**event, "sequence_number": self._sent - 1} if "sequence_number" in event else event

    def _is_shown(self, item: Json) -> bool:
        is_ours = item.get("type") == "function_call" and item.get("name") in self._hidden
        return not is_ours and not (self._round and item.get("type") == "reasoning")

    def goes_on(self) -> None:
        self._round += 1
        self._places, self._end = {}, None

    def end(self) -> Sequence[Json]:
        if self._end is None:
            return []
        return [self._numbered({**self._end, "response": {**self.whole(self._bodies), **self._id}})]

    def whole(self, bodies: Sequence[Json]) -> Json:
        output = []
        for self._round, body in enumerate(bodies):
            output += [item for item in body.get("output", []) if self._is_shown(item)]
        usage = {"usage": summed(body.get("usage") for body in bodies)} if bodies[-1].get("usage") else {}
        return {**bodies[-1], "output": output, **usage}


class GeminiSplice:
    """Gemini's generateContent."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._hidden, self._round = hidden, 0
        self._bill: Json = {}
        self._bills: list[Json] = []
        self._end: Json | None = None

    def take(self, event: Json) -> Sequence[Json]:
        self._bill = event.get("usageMetadata") or self._bill
        if not event.get("candidates"):
            return [event]
        candidate = event["candidates"][0]
        content = candidate.get("content") or {}
        parts = [part for part in content.get("parts") or () if self._is_shown(part)]
        if candidate.get("finishReason"):
            self._end = {**event, "candidates": [{**candidate, "content": {**content, "parts": []}}]}
        kept = {name: value for name, value in candidate.items() if name != "finishReason"}
        shown = {**event, "candidates": [{**kept, "content": {**content, "parts": parts}}]}
        shown.pop("usageMetadata", None)
        return [shown] if parts else []

    def _is_shown(self, part: Json) -> bool:
        is_ours = (part.get("functionCall") or {}).get("name") in self._hidden
        return not is_ours and not (self._round and part.get("thought"))

    def goes_on(self) -> None:
        self._round += 1
        self._bills.append(self._bill)
        self._bill, self._end = {}, None

    def end(self) -> Sequence[Json]:
        usage = summed([*self._bills, self._bill])
        return [] if self._end is None else [{**self._end, "usageMetadata": usage}]

    def whole(self, bodies: Sequence[Json]) -> Json:
        parts: list[Json] = []
        for self._round, body in enumerate(bodies):
            content = body["candidates"][0].get("content") or {}
            parts += [part for part in content.get("parts") or () if self._is_shown(part)]
        last = bodies[-1]["candidates"][0]
        content = {**(last.get("content") or {"role": "model"}), "parts": parts}
        usage = summed(body.get("usageMetadata") for body in bodies)
        return {**bodies[-1], "candidates": [{**last, "content": content}], "usageMetadata": usage}


def _reason(told: object, calling: str, ending: str, *, has_calls: bool) -> object:
    """Why it ended, as the client sees it: not for calls where all of them were hidden."""
    return ending if told == calling and not has_calls else told


# -- calls that only the gateway and the model know of ----------------------------------------------------------------


class HiddenPair(NamedTuple):
    """A call that the client does not see, its result, and where they stand: beside a call of the client's own."""

    anchor: str  # the id of that call
    beside: Json  # the call itself, as the model wrote it
    is_before: bool
    call: Json
    result: Json


def put_back(messages: Sequence[bytes], pair: HiddenPair) -> Sequence[bytes]:
    """Messages with a call and its result where they were, if the very call beside them is there.

    Ids repeat between conversations, and within one: a call of the same id with another name or other arguments is
    another call. Whether the messages before it are the same is for the caller to know.
    """
    anchor = pair.anchor
    out: list[Json | bytes] = []
    state = 0  # the call is not placed yet, or waits for its result, or has it
    for raw in messages:
        if state == 2 or (state == 0 and anchor.encode() not in raw):
            out.append(raw)
            continue
        message = decode(raw)
        if state == 0 and (called := _with_call(message, pair)) is not None:
            out += called
            state = 1
        elif state == 1 and (told := _with_result(message, anchor, pair.result)) is not None:
            out += told
            state = 2
        else:
            out.append(raw)
    return [each if isinstance(each, bytes) else encode(each) for each in out] if state == 2 else messages


def call_of(raw: bytes, named: str) -> Json | None:
    """A call of this id as it stands in a message; None where it has none there."""
    value = decode(raw)
    for message in value if isinstance(value, list) else [value]:
        if message.get("type") == "function_call" and message.get("call_id") == named:
            return dict(message)
        listed = (part for name in ("content", "parts", "tool_calls") for part in _listed(message.get(name)))
        if (found := next((part for part in listed if _id(part) == named), None)) is not None:
            return dict(found)
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _with_call(message: Json, pair: HiddenPair) -> list[Json] | None:
    for name in ("content", "parts", "tool_calls"):
        listed = _listed(message.get(name))
        places = [place for place, each in enumerate(listed) if _id(each) == pair.anchor and _is_same(each, pair)]
        if places:
            at = places[0] + (not pair.is_before)
            return [{**message, name: [*listed[:at], pair.call, *listed[at:]]}]
    is_own = message.get("type") == "function_call" and message.get("call_id") == pair.anchor
    if not is_own or not _is_same(message, pair):
        return None
    return [pair.call, message] if pair.is_before else [message, pair.call]


def _with_result(message: Json, anchor: str, result: Json) -> list[Json] | None:
    for name in ("content", "parts"):
        listed = message.get(name)
        if isinstance(listed, list) and any(_answers(each) == anchor for each in listed):
            return [{**message, name: [*listed, *result[name]]}]
    is_own = message.get("tool_call_id") == anchor or (
        message.get("type") == "function_call_output" and message.get("call_id") == anchor
    )
    return [message, result] if is_own else None


def _is_same(call: Json, pair: HiddenPair) -> bool:
    return _asked(call) == _asked(pair.beside)


def _asked(call: Json) -> tuple[object, object]:
    """The name of a call's tool, and its arguments by value."""
    inner = next((call[name] for name in ("function", "functionCall") if isinstance(call.get(name), dict)), call)
    arguments = next((inner[name] for name in ("input", "arguments", "args") if name in inner), None)
    if isinstance(arguments, str):
        with suppress(BadMessage):  # a client may write the same JSON with other spaces
            arguments = decode(arguments)
    return inner.get("name"), arguments


def _id(part: Any) -> object:
    """The id of a call in a list of blocks, parts or calls."""
    if not isinstance(part, Mapping):
        return None
    inner = part.get("functionCall")
    if isinstance(inner, Mapping):
        return inner.get("id")
    return part.get("id") if part.get("type") in ("tool_use", "function") else None


def _answers(part: Any) -> object:
    if not isinstance(part, Mapping):
        return None
    inner = part.get("functionResponse")
    return inner.get("id") if isinstance(inner, Mapping) else part.get("tool_use_id")
