"""OpenAI chat requests, and the ways to break one rule of them and no other; the rules of flavours too."""

from random import Random
from typing import Any

Body = dict[str, Any]


def call(id_: Any, path: str = "a.py") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "read", "arguments": f'{{"path": "{path}"}}'}}


def answer(id_: Any, words: str = "contents") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": words}


def build(random: Random) -> Body:
    """A sound request: a system prompt, a few turns, parallel calls, words between."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be useful."}]
    messages.append({"role": "user", "content": f"Do task {random.randrange(999)}."})
    number = 0
    for turn in range(random.randint(2, 3)):
        ids = [f"call_{number + at}" for at in range(random.randint(2, 3))]
        number += len(ids)
        said: dict[str, Any] = {"role": "assistant", "content": random.choice([None, f"Looking at {turn}."])}
        said["tool_calls"] = [call(id_, f"{id_}.py") for id_ in ids]
        said["reasoning_content"] = f"I think of {turn}"
        messages.append(said)
        messages += [answer(id_, f"contents of {id_}") for id_ in ids]
        messages.append({"role": "assistant", "content": f"Done with {turn}."})
        messages.append({"role": "user", "content": f"And now {random.randrange(99)}."})
    return {"model": "gpt-4.1", "messages": messages}


def of_role(body: Body, role: str) -> list[dict[str, Any]]:
    return [message for message in body["messages"] if message["role"] == role]


def calling(body: Body) -> list[dict[str, Any]]:
    return [message for message in body["messages"] if message.get("tool_calls")]


def malformed(body: Body, random: Random) -> None:
    if random.random() < 0.5:
        body["messages"].append(random.choice(["words", 7, ["x"]]))
    else:
        message = random.choice(of_role(body, "user"))
        message["content"] = random.choice([["bare words", {"type": "text", "text": "x"}], {"text": "x"}])


def lone_surrogate(body: Body, random: Random) -> None:
    half = f"cut \ud83d {random.randrange(99)}"
    choice = random.randrange(3)
    if choice == 0:
        body["tools"] = [{"type": "function", "function": {"name": "read", "description": half}}]
    elif choice == 1:
        random.choice(of_role(body, "tool"))["content"] = half
    else:
        random.choice(of_role(body, "user"))["content"] = [{"type": "text", "text": half}]


def unknown_role(body: Body, random: Random) -> None:
    random.choice(of_role(body, "user"))["role"] = random.choice(["moderator", "human", "ai", "", None])


def unanswered_call(body: Body, random: Random) -> None:
    choice = random.randrange(3)
    if choice == 0:
        body["messages"].remove(random.choice(of_role(body, "tool")))
    elif choice == 1:
        body["messages"].append({"role": "assistant", "content": None, "tool_calls": [call("open")]})
    else:
        random.choice(calling(body))["tool_calls"].append(call("new"))


def orphan_result(body: Body, random: Random) -> None:
    at = random.choice([index for index, each in enumerate(body["messages"]) if each["role"] == "user"])
    spot = random.randrange(2)
    body["messages"].insert(at + spot, answer(f"nobody{random.randrange(9)}"))


def duplicate_result(body: Body, random: Random) -> None:
    at = random.choice([index for index, each in enumerate(body["messages"]) if each["role"] == "tool"])
    body["messages"].insert(at, {**body["messages"][at], "content": random.choice(["again", "contents"])})


def duplicate_call(body: Body, random: Random) -> None:
    message = random.choice(calling(body))
    doubled = message["tool_calls"][0]
    message["tool_calls"].insert(1, {**doubled, "function": {"name": "write", "arguments": "{}"}})


def missing_id(body: Body, random: Random) -> None:
    message = random.choice(calling(body))
    nothing = random.choice(["", None])
    at = body["messages"].index(message)
    message["tool_calls"][0]["id"] = nothing
    body["messages"][at + 1]["tool_call_id"] = nothing


def arguments_not_text(body: Body, random: Random) -> None:
    function = random.choice(calling(body))["tool_calls"][-1]["function"]
    function["arguments"] = random.choice([{"path": "a"}, {}, None, ["x"], 7])


def empty_tool_calls(body: Body, random: Random) -> None:
    message = random.choice([each for each in of_role(body, "assistant") if "tool_calls" not in each])
    message["tool_calls"] = []
    message["content"] = random.choice(["Done.", [{"type": "text", "text": "Done."}]])


def null_content(body: Body, random: Random) -> None:
    role = random.choice(["user", "tool", "assistant"])
    at = random.choice([index for index, each in enumerate(body["messages"]) if each["role"] == role])
    if role == "tool":
        body["messages"][at]["content"] = None
    else:
        body["messages"].append({"role": role, "content": None})


def empty_message(body: Body, random: Random) -> None:
    role = random.choice(["user", "assistant", "system"])
    blank: Any = random.choice(["", "  ", [{"type": "text", "text": ""}]])
    body["messages"].append({"role": role, "content": blank})


def missing_reasoning(body: Body, random: Random) -> None:
    del random.choice(calling(body))["reasoning_content"]


def alternation(body: Body, random: Random) -> None:
    choice = random.randrange(3)
    users = [index for index, each in enumerate(body["messages"]) if each["role"] == "user"]
    if choice == 0:
        body["messages"].insert(random.choice(users), {"role": "user", "content": "and one more thing"})
    elif choice == 1:
        plain = [
            at for at, each in enumerate(body["messages"]) if each.get("content", "") and "Done" in each["content"]
        ]
        body["messages"].insert(random.choice(plain), {"role": "assistant", "content": "so"})
    else:
        body["messages"].insert(1, {"role": "assistant", "content": "Shall we?"})


def no_tool_role(body: Body, random: Random) -> None:
    """Only one step with a call is left; all others are told in words."""
    kept: list[dict[str, Any]] = [{"role": "user", "content": f"Go {random.randrange(99)}."}]
    kept.append({"role": "assistant", "content": random.choice([None, "See."]), "tool_calls": [call("only")]})
    kept += [answer("only"), {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks."}]
    body["messages"] = kept


MUTATIONS = {
    mutate.__name__.replace("_", "-"): mutate
    for mutate in (
        malformed,
        lone_surrogate,
        unknown_role,
        unanswered_call,
        orphan_result,
        duplicate_result,
        duplicate_call,
        missing_id,
        arguments_not_text,
        empty_tool_calls,
        null_content,
        empty_message,
        missing_reasoning,
        alternation,
        no_tool_role,
    )
}
FLAVOURS = {
    "missing-reasoning": "openai-chat:deepseek",
    "alternation": "openai-chat:bedrock",
    "no-tool-role": "openai-chat:no-tools",
}
