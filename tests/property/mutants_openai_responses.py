"""Responses requests, and the ways to break one rule of them and no other."""

from random import Random
from typing import Any

Body = dict[str, Any]


def call(id_: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id_, "name": "read", "arguments": '{"path": "a.py"}', **more}


def output(id_: Any, said: Any = "contents") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id_, "output": said}


def user(words: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}


def assistant(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}], **more}


def build(random: Random) -> Body:
    """A sound request: a few turns, reasoning before calls, parallel calls, custom ones too."""
    items: list[dict[str, Any]] = [{"role": "user", "content": f"Do task {random.randrange(999)}."}]
    number = 0
    for turn in range(random.randint(2, 3)):
        ids = [f"call_{number + at}" for at in range(random.randint(2, 3))]
        number += len(ids)
        sealed = f"enc{random.randrange(10**9)}"
        items.append({"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": sealed})
        items += [call(id_, id=f"fc_{id_}") for id_ in ids]
        items += [output(id_, f"contents of {id_}") for id_ in ids]
        items.append(assistant(f"Done with {turn}.", id=f"msg_{turn}"))
        items.append(user(f"And now {random.randrange(99)}."))
    return {"model": "gpt-5.5", "input": items, "store": False}


def of_kind(body: Body, kind: str) -> list[dict[str, Any]]:
    return [item for item in body["input"] if item.get("type", "message") == kind]


def users(body: Body) -> list[int]:
    return [index for index, item in enumerate(body["input"]) if item.get("role") == "user"]


def malformed(body: Body, random: Random) -> None:
    what = random.choice(["bare words", 7, {"call": "x"}, ["x"]])
    if random.random() < 0.5:
        body["input"].append(what)
    else:
        body["input"].append({"role": "user", "content": {"type": "input_text", "text": "x"}})


def lone_surrogate(body: Body, random: Random) -> None:
    half = f"cut \ud83d {random.randrange(99)}"
    choice = random.randrange(3)
    if choice == 0:
        body["instructions"] = half
    elif choice == 1:
        random.choice([item for item in body["input"] if "output" in item])["output"] = half
    else:
        body["input"].append(user(half))


def unknown_role(body: Body, random: Random) -> None:
    body["input"][random.choice(users(body))]["role"] = random.choice(["moderator", "human", "tool", ""])


def unanswered_call(body: Body, random: Random) -> None:
    if random.random() < 0.5:
        body["input"].remove(random.choice(of_kind(body, "function_call_output")))
    else:
        at = body["input"].index(random.choice(of_kind(body, "function_call")))
        extra = random.choice(
            [call("new"), {"type": "custom_tool_call", "call_id": "new", "name": "patch", "input": "x"}]
        )
        body["input"].insert(at, extra)


def orphan_output(body: Body, random: Random) -> None:
    body["input"].insert(random.choice(users(body)), output(f"nobody{random.randrange(9)}"))


def duplicate_call(body: Body, random: Random) -> None:
    """Two calls under one id, answered once: a call is sent again."""
    at = body["input"].index(random.choice(of_kind(body, "function_call")))
    body["input"].insert(at, {**body["input"][at], "id": f"fc_again{random.randrange(9)}"})


def duplicate_output(body: Body, random: Random) -> None:
    at = body["input"].index(random.choice(of_kind(body, "function_call_output")))
    body["input"].insert(at, {**body["input"][at], "output": random.choice(["again", "contents"])})


def missing_call_id(body: Body, random: Random) -> None:
    called = random.choice(of_kind(body, "function_call"))
    (answered,) = [item for item in of_kind(body, "function_call_output") if item["call_id"] == called["call_id"]]
    nothing = random.choice(["", None])
    called["call_id"], answered["call_id"] = nothing, nothing


def malformed_call(body: Body, random: Random) -> None:
    called = random.choice(of_kind(body, "function_call"))
    field, value = random.choice(
        [("arguments", {"path": "a"}), ("arguments", None), ("arguments", 7), ("name", None), ("name", "")]
    )
    called[field] = value


def malformed_output(body: Body, random: Random) -> None:
    random.choice(of_kind(body, "function_call_output"))["output"] = random.choice([None, 7, {"a": 1}, True])


def reasoning_without_successor(body: Body, random: Random) -> None:
    thought = {"type": "reasoning", "id": "rs_alone", "summary": [], "encrypted_content": f"e{random.randrange(9)}"}
    body["input"].insert(random.choice([*users(body), len(body["input"])]), thought)


def wrong_id(body: Body, random: Random) -> None:
    kind = random.choice(["function_call", "message", "reasoning"])
    named = [item for item in of_kind(body, kind) if "id" in item]
    random.choice(named)["id"] = random.choice(["toolu_1", "x", "resp_12"])


def duplicate_id(body: Body, random: Random) -> None:
    kind = random.choice(["function_call", "message", "reasoning"])
    first, second = random.sample([item for item in of_kind(body, kind) if "id" in item], 2)
    second["id"] = first["id"]


def misplaced_part(body: Body, random: Random) -> None:
    if random.random() < 0.5:
        spoken = [item for item in of_kind(body, "message") if item["role"] == "assistant"]
        part = random.choice(spoken)["content"][0]
        part["type"] = random.choice(["input_text", "text"])
    else:
        said = [item for item in of_kind(body, "message") if isinstance(item["content"], list)]
        random.choice([item for item in said if item["role"] == "user"])["content"][0]["type"] = random.choice(
            ["output_text", "text"]
        )


def empty_message(body: Body, random: Random) -> None:
    body["input"].append({"role": random.choice(["user", "assistant"]), "content": random.choice(["", []])})


def two_states(body: Body, random: Random) -> None:
    body["previous_response_id"], body["conversation"] = f"resp_{random.randrange(99)}", f"conv_{random.randrange(99)}"


def apart(body: Body, random: Random) -> None:
    at = body["input"].index(random.choice(of_kind(body, "function_call_output")))
    body["input"].insert(at, user(f"meanwhile {random.randrange(99)}"))


MUTATIONS = {
    mutate.__name__.replace("_", "-"): mutate
    for mutate in (
        malformed,
        lone_surrogate,
        unknown_role,
        unanswered_call,
        orphan_output,
        duplicate_call,
        duplicate_output,
        missing_call_id,
        malformed_call,
        malformed_output,
        reasoning_without_successor,
        wrong_id,
        duplicate_id,
        misplaced_part,
        empty_message,
        two_states,
        apart,
    )
}
FLAVOURS = {"apart": "openai-responses:adjacent"}
