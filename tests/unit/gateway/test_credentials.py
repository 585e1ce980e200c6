"""Whose request it is: known headers of providers, claims of tokens, and nobody's headers for everybody."""

import json
from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

import pytest

from contextfold.gateway.credentials import Identity, account_claims, identity_of
from contextfold.gateway.door import Visit

pytestmark = pytest.mark.finding("K10")

KEY = b"k" * 32
SIGNED = (
    "AWS4-HMAC-SHA256 Credential={id}/2026{day}/us-east-1/bedrock/aws4_request, "
    "SignedHeaders=host, Signature={signature}"
)


Headers = dict[str, str] | list[tuple[str, str]]


def identity(headers: Headers, query: str = "", address: str = "127.0.0.1") -> Identity:
    listed = headers if isinstance(headers, list) else headers.items()
    pairs = tuple((name.encode(), value.encode()) for name, value in listed)
    return identity_of(Visit("POST", b"/v1/messages", query.encode(), pairs, address), KEY, "openai")


def token(signature: str = "s", **claims: object) -> str:
    parts = [json.dumps(each).encode() for each in ({"alg": "RS256"}, claims)]
    return ".".join([*(urlsafe_b64encode(each).decode().rstrip("=") for each in parts), signature])


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"x-api-key": "sk-1"}, ""),
        ({"authorization": "Bearer sk-1"}, ""),
        ({"x-goog-api-key": "sk-1"}, ""),
        ({}, "key=sk-1"),
        ({"x-api-key": "sk-1", "authorization": "Bearer sk-1"}, ""),
    ],
)
def test_spaces_of_keys_are_named_as_they_always_were(headers: dict[str, str], query: str) -> None:
    assert identity(headers, query).own == f"tenant-{blake2b(b'sk-1', key=KEY, digest_size=8).hexdigest()}"


@pytest.mark.parametrize("header", ["api-key", "x-api-key", "authorization", "x-goog-api-key", "helicone-auth"])
def test_two_keys_are_two_tenants_in_every_header(header: str) -> None:
    assert identity({header: "one"}) != identity({header: "two"})


def test_a_shared_key_beside_another_credential_is_not_the_shared_keys_tenant() -> None:
    shared = {"x-api-key": "dummy"}
    tenants = {identity({**shared, "authorization": f"Bearer {each}"}).own for each in ("one", "two")}
    assert len(tenants | {identity(shared).own}) == 3


def test_a_request_without_a_known_credential_is_known_by_all_that_it_brings() -> None:
    plain = {"user-agent": "program/1"}
    told = [
        identity(plain),
        identity(plain, address="10.0.0.2"),
        identity({"user-agent": "other/1"}),
        identity({**plain, "x-some-auth": "one"}),
        identity({**plain, "x-some-auth": "two"}),
        identity({**plain, "x-forwarded-for": "10.0.0.3"}),
    ]
    assert len({each.own for each in told}) == len(told)
    passing = {"traceparent": "00-1", "x-request-id": "7", "content-length": "12", "x-session-id": "s"}
    assert identity({**plain, **passing}) == identity(plain)


def test_a_signed_request_is_known_by_what_stays_of_its_signature() -> None:
    first, next_day, other = (
        identity({"authorization": SIGNED.format(id=id, day=day, signature=signature)})
        for id, day, signature in (("AKIA1", "1118", "aa"), ("AKIA1", "1119", "bb"), ("AKIA2", "1118", "aa"))
    )
    assert first == next_day
    assert first.account != other.account
    assert first.own != first.account
    assert not first.is_proven


def test_renewed_tokens_of_one_account_claim_it_and_are_no_proof_of_it() -> None:
    claims: dict[str, Any] = {
        "iss": "https://auth.openai.com",
        "sub": "u1",
        "https://api.openai.com/auth": {"chatgpt_account_id": "a"},
    }
    first = identity({"authorization": f"Bearer {token(exp=1, **claims)}"})
    second = identity({"authorization": f"Bearer {token(exp=2, **claims)}"})
    forged = identity({"authorization": f"Bearer {token('forged', exp=1, **claims)}"})
    assert first.account == second.account == forged.account != ""
    assert len({first.own, second.own, forged.own, first.account}) == 4


@pytest.mark.parametrize(
    "broken", ["eyJ.eyJ.x", "eyJhbGciOiJub25lIn0.!!!.x", token(sub=7), token(iss="i"), "a.b.c", "sk-1"]
)
def test_what_is_no_token_with_an_account_claims_none(broken: str) -> None:
    assert account_claims(broken) == ()
    assert identity({"authorization": f"Bearer {broken}"}).account == ""


def test_tokens_of_two_organisations_of_one_person_are_two_accounts() -> None:
    one, two = (identity({"authorization": f"Bearer {token(sub='u', iss='i', org_id=each)}"}) for each in "ab")
    assert one.account != two.account


UNUSED = ("authorization", "Bearer unused")


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ([("x-api-key", "unused"), ("x-api-key", "{}")], ""),
        ([UNUSED, ("authorization", "Bearer {}")], ""),
        ([UNUSED, ("x-litellm-api-key", "{}")], ""),
        ([UNUSED, ("x-auth-token", "{}")], ""),
        ([UNUSED, ("anthropic-auth-token", "{}")], ""),
        ([UNUSED, ("x-codex-secret", "{}")], ""),
        ([UNUSED, ("cookie", "theme=dark; session={}")], ""),
        ([UNUSED, ("x-amz-security-token", "{}")], ""),
        ([("x-portkey-api-key", "pk"), ("x-portkey-virtual-key", "{}")], ""),
        ([UNUSED], "api-key={}"),
        ([UNUSED], "a=1;key={}"),
        ([UNUSED], "api%2Dkey={}"),
        ([], "key=unused&key={}"),
        ([], "Key={}"),
        ([], "a=1;key={}"),
        ([], "subscription-key={}"),
        ([], "access_token={}"),
        ([], "whatever={}"),
        ([], "key=a%00%{}"),
        ([("authorization", "Bearer"), ("x-real", "{}")], ""),
        ([("authorization", "Bearer "), ("x-real", "{}")], ""),
        ([("anthropic-auth-token", "{}")], ""),
        ([("openai-api-key", "{}")], ""),
        ([("openai-project", "{}")], ""),
        ([("authorization", "Bearer k"), ("openai-organization", "{}")], ""),
        ([("authorization", "Bearer k"), ("openai-project", "{}")], ""),
        ([("authorization", f"Bearer {token(sub='u')}"), ("openai-project", "{}")], ""),
        ([("authorization", SIGNED.format(id="A", day="1118", signature="a")), ("x-amz-security-token", "{}")], ""),
    ],
)
def test_whoever_differs_in_anything_that_may_be_a_credential_is_another_tenant(
    headers: list[tuple[str, str]], query: str
) -> None:
    one, two = (
        identity([(name, value.replace("{}", each)) for name, value in headers], query.replace("{}", each))
        for each in ("fe", "ff")
    )
    assert one.own != two.own
    assert one.own != identity(headers[:1]).own


def test_what_one_request_alone_carries_makes_no_other_tenant() -> None:
    plain = identity({"x-api-key": "sk-1"})
    passing = {"idempotency-key": "7", "x-stainless-retry-count": "1", "anthropic-beta": "b", "cookie": "AWSALB=3"}
    assert identity({"x-api-key": "sk-1", **passing}, "beta=true") == plain
    unknown = identity({"user-agent": "u"})
    assert identity({"user-agent": "u", "idempotency-key": "7", "openai-beta": "b"}, "alt=sse") == unknown
    assert not unknown.is_proven, "whoever brings no credential goes on from no answer by its id alone"


def test_no_key_can_be_written_that_names_the_space_of_anything_but_a_key() -> None:
    account = identity({"authorization": f"Bearer {token(iss='i', sub='victim')}"}).account
    signed = identity({"authorization": SIGNED.format(id="AKIA1", day="1118", signature="aa")})
    several = identity([("x-api-key", "k1"), ("authorization", "Bearer k2")]).own
    unknown = identity({"x-user": "victim"}).own
    forged = [
        "account\0openai\0iss=i\0sub=victim",
        "aws\0openai\0AKIA1\0us-east-1/bedrock",
        "aws\0openai\0AKIA1\0us-east-1/bedrock\0127.0.0.1\0",
        "several\0k1\0k2",
        "unknown\000127.0.0.1\0x-user:victim",
    ]
    reached = {identity({}, f"key={quote(each)}").own for each in forged}
    assert not reached & {account, signed.account, signed.own, several, unknown}


def test_a_claim_can_not_hold_another_claim() -> None:
    victim, forger = (
        identity({"authorization": f"Bearer {token(iss='i', **claims)}"}).account
        for claims in ({"sub": "victim", "org_id": "o"}, {"sub": "victim\0org_id=o"})
    )
    assert victim != forger


@pytest.mark.parametrize(
    ("beside", "query"),
    [
        ([("authorization", "Bearer mine")], ""),
        ([("x-real-auth", "mine")], ""),
        ([("x-api-key", "mine")], ""),
        ([("cookie", "token=mine")], ""),
        ([], "key=mine"),
        ([], "access_token=mine"),
    ],
)
def test_claims_count_only_where_no_other_credential_may_have_been_accepted(
    beside: list[tuple[str, str]], query: str
) -> None:
    forged = ("authorization", f"Bearer {token(iss='i', sub='victim')}")
    assert identity([forged]).account
    for headers in ([forged, *beside], [*beside, forged]):
        assert identity(headers, query).account == ""


def test_a_token_that_nobody_signed_claims_nothing() -> None:
    assert account_claims(token(signature="", iss="i", sub="u")) == ()
    head = urlsafe_b64encode(b'{"alg":"None"}').decode().rstrip("=")
    assert account_claims(f"{head}.{token(iss='i', sub='u').partition('.')[2]}") == ()


def test_a_claim_that_is_no_proper_text_is_an_account_like_any_other() -> None:
    body = urlsafe_b64encode(b'{"sub":"\\ud800"}').decode().rstrip("=")
    assert identity({"authorization": f"Bearer {token(sub='u').partition('.')[0]}.{body}.s"}).own
