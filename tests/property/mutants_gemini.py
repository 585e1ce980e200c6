"""Gemini requests, and the ways to break one rule of them and no other."""

from random import Random
from typing import Any

Body = dict[str, Any]


def call(name: str, number: int, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"id": f"c{number}", "name": name, "args": {"path": f"{number}.py"}}, **more}


def response(name: str, number: int) -> dict[str, Any]:
    return {"functionResponse": {"id": f"c{number}", "name": name, "response": {"output": f"contents of {number}"}}}


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": words}]}


def build(random: Random) -> Body:
    """A sound request: a few turns, parallel calls, the first of each step signed."""
    contents: list[dict[str, Any]] = [user(f"Do task {random.randrange(999)}.")]
    number = 0
    for turn in range(random.randint(2, 3)):
        calls = range(number, number + random.randint(2, 3))
        number = calls.stop
        signed = {"thoughtSignature": f"c2ln{random.randrange(10**6)}"}
        said: list[Any] = [{"text": f"Looking at {turn}."}] if random.random() < 0.5 else []
        said += [call("read", at, **(signed if at == calls.start else {})) for at in calls]
        contents.append({"role": "model", "parts": said})
        contents.append({"role": "user", "parts": [response("read", at) for at in calls]})
        contents.append({"role": "model", "parts": [{"text": f"Done with {turn}."}]})
        contents.append(user(f"And now {random.randrange(99)}."))
    return {"contents": contents}


def holding(body: Body, kind: str) -> list[dict[str, Any]]:
    return [content for content in body["contents"] if any(kind in part for part in content["parts"])]


def places(body: Body, kind: str) -> list[tuple[list[Any], int]]:
    return [
        (content["parts"], index)
        for content in body["contents"]
        for index, part in enumerate(content["parts"])
        if kind in part
    ]


def of_role(body: Body, role: str) -> list[int]:
    return [index for index, content in enumerate(body["contents"]) if content["role"] == role]


def plain_users(body: Body) -> list[int]:
    return [index for index in of_role(body, "user") if "text" in body["contents"][index]["parts"][0]]


def malformed(body: Body, random: Random) -> None:
    what = random.choice(["bare words", 7, {"role": "user", "parts": "words"}, {"role": "user", "parts": ["words"]}])
    if isinstance(what, dict) and what["parts"] == ["words"]:
        what["parts"] = ["words", {"text": "x"}]
    body["contents"].append(what)


def lone_surrogate(body: Body, random: Random) -> None:
    half = f"cut \ud83d {random.randrange(99)}"
    choice = random.randrange(3)
    if choice == 0:
        body["systemInstruction"] = {"parts": [{"text": half}]}
    elif choice == 1:
        parts, index = random.choice(places(body, "functionResponse"))
        parts[index]["functionResponse"]["response"] = {half: half}
    else:
        body["contents"][0] = user(half)


def unknown_role(body: Body, random: Random) -> None:
    body["contents"][random.choice(plain_users(body))]["role"] = random.choice(["moderator", "human", "tool", "system"])


def first_from_user(body: Body, random: Random) -> None:
    body["contents"].insert(0, {"role": "model", "parts": [{"text": f"Shall we? {random.randrange(99)}"}]})


def ends_with_model(body: Body, random: Random) -> None:
    body["contents"].append({"role": "model", "parts": [{"text": f"The answer is {random.randrange(99)}"}]})


def empty_content(body: Body, random: Random) -> None:
    at = random.choice(plain_users(body))
    body["contents"].insert(at, {"role": "user", "parts": []})


def empty_part(body: Body, random: Random) -> None:
    at = random.choice(plain_users(body))
    body["contents"][at]["parts"].append(random.choice([{"text": ""}, {}]))


def two_in_a_part(body: Body, random: Random) -> None:
    parts, index = random.choice(places(body, "functionCall"))
    parts[index] = {**parts[index], "text": f"I call {random.randrange(99)}"}


def call_placement(body: Body, random: Random) -> None:
    content = random.choice(holding(body, "functionCall"))
    at = body["contents"].index(content)
    body["contents"].insert(at, {"role": "model", "parts": [{"text": f"First, {random.randrange(99)}."}]})


def unanswered_call(body: Body, random: Random) -> None:
    if random.random() < 0.5:
        parts, index = random.choice(places(body, "functionResponse"))
        del parts[index]
    else:
        parts, _ = random.choice(places(body, "functionCall"))
        parts.append(call("write", 900 + random.randrange(9)))


def orphan_response(body: Body, random: Random) -> None:
    parts, index = random.choice(places(body, "functionResponse"))
    extra = response("nobody", 800 + random.randrange(9))
    if random.random() < 0.5:
        parts.insert(index, extra)
    else:
        body["contents"][random.choice(plain_users(body))]["parts"].append(extra)


def duplicate_call(body: Body, random: Random) -> None:
    first, second = random.sample(holding(body, "functionCall"), 2)
    old, new = second["parts"][-1]["functionCall"]["id"], first["parts"][-1]["functionCall"]["id"]
    for kind in ("functionCall", "functionResponse"):
        for parts, index in places(body, kind):
            if parts[index][kind]["id"] == old:
                parts[index][kind]["id"] = new


def misplaced_part(body: Body, random: Random) -> None:
    """A response in a content of the model's, where its own content is missing nothing."""
    plain = [at for at in of_role(body, "model") if "text" in body["contents"][at]["parts"][-1]]
    body["contents"][random.choice(plain)]["parts"].append(response("read", 700 + random.randrange(9)))


def malformed_call(body: Body, random: Random) -> None:
    kind, field = random.choice([("functionCall", "args"), ("functionResponse", "response")])
    parts, index = random.choice(places(body, kind))
    parts[index][kind][field] = random.choice(["words", 7, ["x"]])


def missing_signature(body: Body, random: Random) -> None:
    name = f"look{random.randrange(9)}"
    body["contents"].append({"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]})
    answered = {"functionResponse": {"name": name, "response": {"output": f"seen {random.randrange(99)}"}}}
    body["contents"].append({"role": "user", "parts": [answered]})


MUTATIONS = {
    mutate.__name__.replace("_", "-"): mutate
    for mutate in (
        malformed,
        lone_surrogate,
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
}
FLAVOURS = {"missing-signature": "gemini:signed"}
