"""Anthropic requests, and the ways to break one rule of them and no other."""

from random import Random
from typing import Any

Body = dict[str, Any]
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
NEW, OLD = "claude-sonnet-5-5", "claude-3-7-sonnet"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def build(random: Random) -> Body:
    """A sound request: a few turns, parallel calls, thinking, a server's tool, pictures in results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Do task {random.randrange(999)}."}]
    number = 0
    for turn in range(random.randint(2, 3)):
        calls = [f"toolu_{number + at}" for at in range(random.randint(2, 3))]
        number += len(calls)
        said: list[Any] = []
        if turn % 2 == 0:
            said.append({"type": "thinking", "thinking": f"hm {turn}", "signature": f"sig{random.randrange(10**9)}"})
        said.append(text(f"Looking at {turn}, part {random.randrange(99)}."))
        if turn == 1:
            said.append({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}})
            said.append({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})
        said += [{"type": "tool_use", "id": call, "name": "read", "input": {"path": f"{call}.py"}} for call in calls]
        messages.append({"role": "assistant", "content": said})
        results: list[Any] = [_result(call, random) for call in calls]
        if random.random() < 0.5:
            results.append(text(f"Go on with {turn}."))
        messages.append({"role": "user", "content": results})
        if random.random() < 0.3:
            messages.append({"role": "assistant", "content": "Done so far."})
            messages.append({"role": "user", "content": "And now the rest."})
    return {"model": NEW, "max_tokens": 256, "messages": messages}


def _result(call: str, random: Random) -> dict[str, Any]:
    said = f"contents of {call}"
    content: Any = said if random.random() < 0.5 else [text(said)]
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def places(body: Body, kind: str) -> list[tuple[list[Any], int]]:
    """Where blocks of a kind stand: the content and the index in it."""
    return [
        (message["content"], index)
        for message in body["messages"]
        if isinstance(message["content"], list)
        for index, block in enumerate(message["content"])
        if block["type"] == kind
    ]


def pick(body: Body, kind: str, random: Random) -> tuple[list[Any], int]:
    return random.choice(places(body, kind))


def of_role(body: Body, role: str, random: Random, *, inner: bool = False) -> dict[str, Any]:
    chosen = [each for each in body["messages"] if each["role"] == role]
    found: dict[str, Any] = random.choice(chosen[1:-1] if inner else chosen)
    return found


def rename(body: Body, old: str, new: Any) -> None:
    for kind, field in (("tool_use", "id"), ("tool_result", "tool_use_id")):
        for content, index in places(body, kind):
            if content[index][field] == old:
                content[index][field] = new


def malformed(body: Body, random: Random) -> None:
    at = random.randrange(1, len(body["messages"]))
    what = random.choice([7, None, "words", {"type": "text"}])
    if random.random() < 0.5:
        body["messages"].insert(at, random.choice(["words", 7, ["x"]]))
    else:
        body["messages"].append({"role": "user", "content": 7 if what is None else what if what != "words" else 1.5})


def lone_surrogate(body: Body, random: Random) -> None:
    half = f"cut \ud83d {random.randrange(99)}"
    choice = random.randrange(4)
    if choice == 0:
        body["system"] = half
    elif choice == 1:
        body["messages"][0]["content"] = half
    elif choice == 2:
        content, index = pick(body, "tool_result", random)
        content[index]["content"] = half
    else:
        content, index = pick(body, "tool_use", random)
        content[index]["input"] = {half: [half]}


def unknown_role(body: Body, random: Random) -> None:
    plain = [each for each in body["messages"] if isinstance(each["content"], str) and each["role"] == "user"]
    random.choice(plain)["role"] = random.choice(["moderator", "tool", "developer", "human", "", None])


def foreign_field(body: Body, random: Random) -> None:
    message = of_role(body, "assistant", random)
    message.update(random.choice([{"tool_calls": []}, {"tool_calls": None}, {"reasoning_content": "hm"}]))


def first_from_user(body: Body, random: Random) -> None:
    body["messages"].insert(0, {"role": "assistant", "content": f"Shall we? {random.randrange(99)}"})


def system_placement(body: Body, random: Random) -> None:
    spot = random.randrange(3)
    if spot == 0:
        body["messages"].insert(0, {"role": "system", "content": f"Be brief. {random.randrange(99)}"})
    elif spot == 1:
        body["messages"] += [{"role": "assistant", "content": "ok"}, {"role": "system", "content": "Be kind."}]
        body["messages"].append({"role": "user", "content": "go on"})
    else:
        image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
        body["messages"].append({"role": "system", "content": [text(f"see {random.randrange(99)}"), image]})


def ends_with_assistant(body: Body, random: Random) -> None:
    body["messages"].append({"role": "assistant", "content": f"The answer is {random.randrange(99)}"})


def empty_message(body: Body, random: Random) -> None:
    at = random.randrange(1, len(body["messages"]) + 1)
    role = "user" if at == len(body["messages"]) else random.choice(["user", "assistant"])
    if body["messages"][at - 1]["role"] == "assistant" or role == "assistant":
        role = body["messages"][at - 1]["role"]
    body["messages"].insert(at, {"role": role, "content": random.choice(["", []])})


def blank_text(body: Body, random: Random) -> None:
    content, index = pick(body, random.choice(["text", "tool_result"]), random)
    blank = text(random.choice(["", " ", "\n\t"]))
    if content[index]["type"] == "text":
        content.insert(index + 1, blank)
    else:
        content[index]["content"] = [text("something"), blank]


def misplaced_thinking(body: Body, random: Random) -> None:
    message = of_role(body, "user", random)
    thought = {"type": "thinking", "thinking": "hm", "signature": f"s{random.randrange(99)}"}
    old = message["content"]
    message["content"] = [*([text(old)] if isinstance(old, str) else old), thought]


def unsigned_thinking(body: Body, random: Random) -> None:
    content, index = pick(body, "thinking", random)
    choice = random.randrange(3)
    if choice == 0:
        content[index]["signature"] = ""
    elif choice == 1:
        del content[index]["signature"]
    else:
        content[index] = {"type": "redacted_thinking", "data": ""}


def empty_error(body: Body, random: Random) -> None:
    content, index = pick(body, "tool_result", random)
    content[index] = {**content[index], "content": random.choice(["", [], None]), "is_error": True}


def unanswered_call(body: Body, random: Random) -> None:
    choice = random.randrange(3)
    if choice == 0:
        content, index = pick(body, "tool_result", random)
        content.append(text("something else"))
        del content[index]
    elif choice == 1:
        body["messages"].append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "open", "name": "run", "input": {}}]}
        )
    else:
        content, index = pick(body, "tool_use", random)
        content.insert(index, {"type": "tool_use", "id": "toolu_new", "name": "run", "input": {"n": 1}})


def orphan_result(body: Body, random: Random) -> None:
    if random.random() < 0.5:
        content, index = pick(body, "tool_use", random)
        content[index] = text("I called nothing.")
    else:
        content, index = pick(body, "tool_result", random)
        content.insert(index, {"type": "tool_result", "tool_use_id": f"nobody{random.randrange(9)}", "content": "late"})


def orphan_server_result(body: Body, random: Random) -> None:
    content, index = pick(body, "text", random)
    while body["messages"][0] is None or not _is_assistants(body, content):
        content, index = pick(body, "text", random)
    found = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_x{random.randrange(9)}", "content": []}
    content.insert(index, found)


def unanswered_server_call(body: Body, random: Random) -> None:
    content, index = pick(body, "text", random)
    while not _is_assistants(body, content):
        content, index = pick(body, "text", random)
    call = {"type": "server_tool_use", "id": f"srvtoolu_y{random.randrange(9)}", "name": "web_search", "input": {}}
    content.insert(index + 1, call)


def dangling_caller(body: Body, random: Random) -> None:
    content, index = pick(body, "tool_use", random)
    content[index]["caller"] = {"type": "code_execution_20260120", "tool_id": f"srvtoolu_z{random.randrange(9)}"}


def _is_assistants(body: Body, content: list[Any]) -> bool:
    return any(each["content"] is content and each["role"] == "assistant" for each in body["messages"])


def results_first(body: Body, random: Random) -> None:
    content, _ = pick(body, "tool_result", random)
    content.insert(0, text(f"first some words {random.randrange(99)}"))


def duplicate_result(body: Body, random: Random) -> None:
    content, index = pick(body, "tool_result", random)
    content.insert(index, {**content[index], "content": random.choice(["again", content[index]["content"]])})


def duplicate_call(body: Body, random: Random) -> None:
    turns = [each["content"] for each in body["messages"] if each["role"] == "assistant"]
    with_calls = [each for each in turns if isinstance(each, list) and each[-1]["type"] == "tool_use"]
    first, second = random.sample(with_calls, 2)
    rename(body, second[-1]["id"], first[-1]["id"])


def misplaced_tool(body: Body, random: Random) -> None:
    call = {"type": "tool_use", "id": f"mis{random.randrange(9)}", "name": "run", "input": {}}
    if random.random() < 0.5:
        body["messages"].insert(0, {"role": "user", "content": [text("hello"), call]})
        return
    body["messages"] += [{"role": "assistant", "content": [text("so"), {**_result("gone", random)}]}]
    body["messages"].append({"role": "user", "content": "go on"})


def malformed_call(body: Body, random: Random) -> None:
    content, index = pick(body, "tool_use", random)
    choice = random.randrange(4)
    if choice == 0:
        rename(body, content[index]["id"], f"call {random.randrange(99)}!")
    elif choice == 1:
        content[index]["input"] = random.choice(['{"path": "a"}', "words", 7, None, ["x"]])
    elif choice == 2:
        content[index]["name"] = random.choice(["", None, 7])
    else:
        rename(body, content[index]["id"], "")


def too_many_breakpoints(body: Body, random: Random) -> None:
    spots = places(body, "tool_result") + places(body, "text")
    for content, index in random.sample(spots, 5):
        content[index]["cache_control"] = MARK


def breakpoint_on_thinking(body: Body, random: Random) -> None:
    content, index = pick(body, "thinking", random)
    content[index]["cache_control"] = random.choice([MARK, HOUR])


def breakpoint_order(body: Body, random: Random) -> None:
    spots = places(body, "tool_result")
    first = random.randrange(len(spots) - 1)
    second = random.randrange(first + 1, len(spots))
    for at, mark in ((first, MARK), (second, HOUR)):
        content, index = spots[at]
        content[index]["cache_control"] = mark


def sampling(body: Body, random: Random) -> None:
    name, value = random.choice([("temperature", 0), ("temperature", 0.5), ("top_p", 0.9), ("top_k", 40)])
    body[name] = value


def thinking_budget(body: Body, random: Random) -> None:
    body["max_tokens"] = 20_000
    body["thinking"] = {"type": "enabled", "budget_tokens": random.randint(1_024, 9_000)}


def forced_tool(body: Body, random: Random) -> None:
    body["tools"] = [{"name": "read", "input_schema": {"type": "object"}}]
    body["tool_choice"] = random.choice([{"type": "any"}, {"type": "tool", "name": "read"}])


def starts_with_thinking(body: Body, random: Random) -> None:
    body["model"], body["max_tokens"] = OLD, 4_000
    body["thinking"] = {"type": "enabled", "budget_tokens": random.randint(1_024, 2_000)}
    call = {"type": "tool_use", "id": "last", "name": "read", "input": {}}
    said = random.choice([[text("I will look."), call], [call]])
    body["messages"] += [{"role": "assistant", "content": said}, {"role": "user", "content": [_result("last", random)]}]


MUTATIONS = {
    mutate.__name__.replace("_", "-"): mutate
    for mutate in (
        malformed,
        lone_surrogate,
        unknown_role,
        foreign_field,
        first_from_user,
        system_placement,
        ends_with_assistant,
        empty_message,
        blank_text,
        misplaced_thinking,
        unsigned_thinking,
        empty_error,
        unanswered_call,
        orphan_result,
        orphan_server_result,
        unanswered_server_call,
        dangling_caller,
        results_first,
        duplicate_result,
        duplicate_call,
        misplaced_tool,
        malformed_call,
        too_many_breakpoints,
        breakpoint_on_thinking,
        breakpoint_order,
        sampling,
        thinking_budget,
        forced_tool,
        starts_with_thinking,
    )
}
