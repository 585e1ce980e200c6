"""Whose conversations are whose at a running gateway: Azure keys, no keys, tokens that are renewed or forged."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream

pytestmark = pytest.mark.finding("K10")

LONG = "alpha beta gamma delta epsilon " * 150
Message = dict[str, Any]


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture
def house(tmp_path: Path, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, limit=8_000) as house:
        yield house


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def long_talk(name: str, turns: int = 12) -> list[Message]:
    """A history that has to be folded."""
    pairs = [[user(f"{name} {at}. {LONG}"), assistant(f"Noted {name} {at}.")] for at in range(turns)]
    return [*(message for pair in pairs for message in pair), user("And now?")]


def ask(house: House, upstream: PlainUpstream, messages: list[Message], status: int = 200, **headers: Any) -> str:
    """What was forwarded for a history."""
    reply = {"id": "m", "type": "message", "role": "assistant", "content": assistant("Done.")["content"]}
    upstream.answer(Answer([json.dumps(reply).encode()], status))
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": messages, "tools": [{"name": "ls"}]}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    assert web().post(f"{house.url}/v1/messages", json=body, headers=named).status_code == status
    house.settle()
    return upstream.arrived[-1].body.decode()


def stand_in(body: str) -> Message:
    """What stands for the folded messages of a request."""
    return next(message for message in json.loads(body)["messages"] if "folded" in json.dumps(message))


def spaces(house: House) -> list[list[int]]:
    """How many messages each thread of each space holds on its live branch."""
    house.settle()
    found = []
    for ledger in house.gateway.tenants.ledgers:
        rows = ledger.store.threads() if ledger.kept_in.opened else ()
        if rows:
            threads = [ledger.store.thread(row.title) for row in rows]
            found.append(sorted(len([i for i in each.branch.items.items if i.kind == "message"]) for each in threads))
    return sorted(found)


def token(number: int, **claims: object) -> str:
    parts = [
        json.dumps(each).encode() for each in ({"alg": "RS256"}, {"iss": "i", "sub": "u", "jti": number, **claims})
    ]
    return "Bearer " + ".".join([*(urlsafe_b64encode(each).decode().rstrip("=") for each in parts), "signature"])


def test_two_azure_customers_with_one_beginning_share_no_space(house: House, upstream: PlainUpstream) -> None:
    for key in ("azure-one", "azure-two"):
        ask(house, upstream, [user("Hello.")], api_key=key)
    assert spaces(house) == [[2], [2]]


def test_requests_without_a_credential_share_no_space_with_other_programs(
    house: House, upstream: PlainUpstream
) -> None:
    ask(house, upstream, [user("Hello.")], user_agent="one/1")
    ask(house, upstream, [user("Hello.")], user_agent="two/1")
    ask(house, upstream, [user("Hello.")], user_agent="two/1", x_my_auth="s")
    assert spaces(house) == [[2], [2], [2]]


def test_a_conversation_goes_on_when_its_token_is_renewed(house: House, upstream: PlainUpstream) -> None:
    history = long_talk("heron")
    ask(house, upstream, history[:1], authorization=token(1))
    ask(house, upstream, history, authorization=token(1))
    longer = [*history, assistant("Done."), user("Go on.")]
    before = stand_in(ask(house, upstream, longer, authorization=token(1)))
    known = spaces(house)
    after = ask(house, upstream, [*longer, assistant("Done."), user("More.")], authorization=token(2))
    assert stand_in(after) == before
    assert len(spaces(house)) == len(known), "no space of its own"


def test_an_opaque_token_that_is_renewed_goes_on_within_the_clients_session(
    house: House, upstream: PlainUpstream
) -> None:
    session: Message = {"x_claude_code_session_id": "s-1"}
    history = long_talk("heron")
    before = stand_in(ask(house, upstream, history, authorization="Bearer sk-ant-oat-1", **session))
    ask(house, upstream, [user("Write a title.")], authorization="Bearer sk-ant-oat-2", **session)
    longer = [*history, assistant("Done."), user("Go on.")]
    after = ask(house, upstream, longer, authorization="Bearer sk-ant-oat-2", **session)
    assert stand_in(after) == before
    assert spaces(house) == [[2], [len(longer) + 1]], "the title apart, and one conversation"


def test_a_guessed_session_without_its_words_is_a_space_of_its_own(house: House, upstream: PlainUpstream) -> None:
    session: Message = {"x_claude_code_session_id": "s-1"}
    ask(house, upstream, long_talk("heron"), authorization="Bearer sk-ant-oat-1", **session)
    sent = ask(house, upstream, long_talk("osprey"), authorization="Bearer sk-ant-oat-2", **session)
    assert "heron" not in sent
    assert len(spaces(house)) == 2


def test_a_forged_claim_enters_nobodys_space(house: House, upstream: PlainUpstream) -> None:
    ask(house, upstream, [user("Mine.")], authorization=token(1))
    ask(house, upstream, [user("Mine."), assistant("Done."), user("Two.")], authorization=token(1))
    before = spaces(house)
    ask(house, upstream, [user("Mine.")], status=401, authorization=token(666))
    ask(house, upstream, [user("Mine."), assistant("Guessed."), user("Two.")], status=401, authorization=token(666))
    assert [each for each in spaces(house) if each in before] == before
    assert len(spaces(house)) == len(before) + 1


Headers = list[tuple[str, str]]


def chain(
    house: House, upstream: PlainUpstream, headers: Headers, text: str, id: str, previous: str = "", query: str = ""
) -> str:
    """What was forwarded for one message that goes on from an answer by its id."""
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noted."}]}]
    reply = {"id": id, "object": "response", "status": "completed", "output": output}
    upstream.answer(Answer([json.dumps(reply).encode()]))
    body: Message = {"model": "gpt-6-sol", "input": [{"role": "user", "content": text}]}
    body |= {"previous_response_id": previous} if previous else {}
    answer = web().post(f"{house.url}/v1/responses{query}", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    house.settle()
    return upstream.arrived[-1].body.decode()


VICTIM = [("authorization", token(1))]
SIGNED = "AWS4-HMAC-SHA256 Credential=AKIA1/20261118/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=a"
UNUSED = ("authorization", "Bearer unused")


@pytest.mark.parametrize(
    ("victim", "other", "query"),
    [
        pytest.param(VICTIM, [], "?key=account%00openai%00iss%3Di%00sub%3Du", id="a key like the account's claims"),
        pytest.param(
            [("authorization", SIGNED)], [], "?key=aws%00openai%00AKIA1%00us-east-1%2Fbedrock", id="a key like AWS"
        ),
        pytest.param(VICTIM, [("authorization", token(2)), ("authorization", "Bearer mine")], "", id="forged, first"),
        pytest.param(VICTIM, [("authorization", token(2)), ("x-real-auth", "mine")], "", id="forged, key elsewhere"),
        pytest.param(VICTIM, [("authorization", token(2))], "?access_token=mine", id="forged, key in the query"),
        pytest.param([UNUSED, ("authorization", "k1")], [UNUSED, ("authorization", "k2")], "", id="a header twice"),
        pytest.param([UNUSED, ("x-auth-token", "k1")], [UNUSED, ("x-auth-token", "k2")], "", id="beside a dummy"),
        pytest.param([UNUSED], [UNUSED], "?api-key=k2", id="in the query beside a dummy"),
        pytest.param([("openai-api-key", "k1")], [("openai-api-key", "k2")], "", id="a key in a provider's header"),
        pytest.param(
            [("authorization", "k"), ("openai-project", "p1")],
            [("authorization", "k"), ("openai-project", "p2")],
            "",
            id="two projects of one key",
        ),
        pytest.param([("user-agent", "u")], [("user-agent", "u")], "", id="no credential at all"),
    ],
)
def test_an_id_goes_on_from_no_answer_of_another_credential(
    tmp_path: Path, upstream: PlainUpstream, victim: Headers, other: Headers, query: str
) -> None:
    with gateway(tmp_path / "store.db", upstream.url, window=16_000, limit=6_000) as house:
        chain(house, upstream, victim, "Hello.", "resp_0")
        chain(house, upstream, victim, f"heron {LONG * 4}", "resp_1")
        chain(house, upstream, other, "Hello, too.", "resp_2", query=query)
        sent = chain(house, upstream, other, f"Tell me. {LONG * 4}", "resp_3", "resp_1", query=query)
        assert "heron" not in sent
        assert '"previous_response_id"' in sent


def test_a_key_goes_on_from_its_own_answer_by_its_id(tmp_path: Path, upstream: PlainUpstream) -> None:
    with gateway(tmp_path / "store.db", upstream.url, window=16_000, limit=6_000) as house:
        mine = [UNUSED, ("x-auth-token", "k1")]
        chain(house, upstream, mine, f"heron {LONG * 4}", "resp_1")
        assert "heron" in chain(house, upstream, mine, f"Tell me. {LONG * 4}", "resp_2", "resp_1")


def test_a_forged_claim_goes_on_from_no_answer_of_another(tmp_path: Path, upstream: PlainUpstream) -> None:
    with gateway(tmp_path / "store.db", upstream.url, window=16_000, limit=6_000) as house:
        chain(house, upstream, [("authorization", token(1))], f"heron {LONG * 4}", "resp_1")
        sent = chain(house, upstream, [("authorization", token(666))], f"Tell me. {LONG * 4}", "resp_1", "resp_1")
        assert "heron" not in sent
        assert '"previous_response_id"' in sent


def test_keys_are_in_no_name_of_a_space(tmp_path: Path, house: House, upstream: PlainUpstream) -> None:
    secret = f"credential-{'x' * 20}"
    credentials: list[Message] = [
        {"api_key": secret},
        {"authorization": f"Bearer {secret}"},
        {"x_unknown_auth": secret},
    ]
    for headers in credentials:
        ask(house, upstream, [user("Hello.")], **headers)
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert secret.encode() not in held
