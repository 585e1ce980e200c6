"""Whose request it is, as far as it says: keyed hashes of credentials, and what makes two of them one account.

A key that stays is its own tenant. Everything that looks like a credential counts, every value of it, wherever it
stands: which of them the provider goes by is not known here. A token that is renewed names an account in claims that
nobody has checked here, so they count only where no other credential may have opened the door, and once the provider
has accepted a token with them, or where the request itself holds all that the account said: a forged claim reads
nothing. A token that says nothing of its account is gone on from by the client's session, under the same condition.
Whoever brings no credential that is known is known by the address, the query, and all headers that are not of one
request alone, and shares with nobody else. Nothing of a credential is kept but keyed hashes; those of keys, of accounts
and of all else are of different kinds, so that none can be written to equal another's.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from urllib.parse import parse_qsl

from msgspec import Struct

from contextfold.domain import decode
from contextfold.errors import BadMessage

from .door import SESSION_HEADERS, Visit

_KNOWN = frozenset(
    [
        "x-api-key",
        "authorization",
        "x-goog-api-key",
        "api-key",
        "ocp-apim-subscription-key",
        "cf-aig-authorization",
        "helicone-auth",
        "x-portkey-api-key",
        "?key",
    ]
)
# Names of headers and of parameters of the query that may hold a credential; a cookie may also name a session.
_CREDENTIAL = re.compile(r"key|token|auth|secret|credential|passw|jwt|bearer", re.IGNORECASE)
_COOKIE = re.compile(rf"{_CREDENTIAL.pattern}|sess|sid", re.IGNORECASE)
_OF_ONE_REQUEST = frozenset(["idempotency-key", "x-idempotency-key"])
_OF_A_SIGNATURE = "x-amz-security-token"
# One key may serve several of these.
_SCOPES = frozenset([b"openai-organization", b"openai-project", b"chatgpt-account-id", b"x-goog-user-project"])
_SIGNED = re.compile(r"AWS4-[A-Z0-9-]+ +Credential=([^/,\s]+)/\d{8}/([^/,\s]+/[^/,\s]+)/aws4_request")
_RENEWED = re.compile(r"sk-ant-oat|ya29\.|gh[ou]_|tid=")  # tokens that clients renew, and that tell nothing
_ACCOUNT_CLAIMS = ("iss", "sub", "org_id", "organization_id", "account_id", "tid", "oid")
_OPENAI_CLAIMS, _OPENAI_ACCOUNT = "https://api.openai.com/auth", "chatgpt_account_id"
# Headers of one request or one connection, or of a client's own state: they say nothing of who sends them.
_PASSING = re.compile(
    rb"host|connection|keep-alive|content-.*|accept.*|te|trailer|transfer-encoding|expect|upgrade|date|priority|"
    rb"cache-control|pragma|sec-fetch-.*|traceparent|tracestate|baggage|sentry-.*|b3|x-b3-.*|x-datadog-.*|"
    rb"x-cloud-trace-context|x-amzn-trace-id|x-amz-date|x-amz-content-sha256|x-request-id|x-client-request-id|"
    rb"request-id|(x-)?idempotency-key|x-stainless-.*|anthropic-(version|beta|dangerous-direct-browser-access)|"
    rb"openai-(beta|intent|version)|x-codex-.*|x-contextfold-.*|x-session-affinity"
)
_PASSING_IN_QUERY = frozenset([b"", b"alt=sse", b"beta=true"])


class Identity(Struct, frozen=True):
    """Spaces of the store in which a request may belong."""

    own: str  # of this very credential
    account: str = ""  # of all tokens with the same claims
    is_renewed: bool = False  # the client changes its token, which says nothing of its account
    is_proven: bool = True  # whoever sends this knows a secret, so an id is enough to go on from


def identity_of(visit: Visit, key: bytes, upstream: str = "") -> Identity:
    """Who sent a request; the same key is the same tenant, whatever header it came in."""
    sent = [(name, value) for name, value in _credentials(visit) if value]
    if not any(name in _KNOWN for name, _ in sent):
        return Identity(_space(key, "unknown", _unknown(visit)), is_proven=False)
    signed = next((match for _, value in sent if (match := _SIGNED.match(value))), None)
    if signed is not None:
        sent = [(name, value) for name, value in sent if name != _OF_A_SIGNATURE]
    scope = [part for name, value in sorted(visit.headers) if name in _SCOPES for part in (name, value)]
    if len({value for _, value in sent}) > 1:
        named = [part for pair in sorted(sent, key=lambda pair: pair[0]) for part in pair]
        return Identity(_space(key, "several", [*named, "", *scope]), is_proven=signed is None)
    credential = sent[0][1]
    if signed is not None:
        account = [upstream, *signed.groups(), *scope]
        unproven = [*account, "", visit.address, *visit.values(_OF_A_SIGNATURE.encode())]
        return Identity(_space(key, "aws-own", unproven), _space(key, "aws", account), is_proven=False)
    own = _space(key, "scoped", [credential, *scope]) if scope else _key_space(key, credential)
    claims = [part for claim in account_claims(credential) for part in claim]
    if claims:
        return Identity(own, _space(key, "account", [upstream, *claims, "", *scope]))
    return Identity(own, is_renewed=_RENEWED.match(credential) is not None)


def account_claims(token: str) -> tuple[tuple[str, str], ...]:
    """What a token says of the account it is for; nothing where it is no signed token. Nobody has checked it."""
    parts = token.split(".")
    if len(parts) != 3 or not token.startswith("eyJ") or not parts[2]:
        return ()
    try:
        head, claims = (decode(urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in parts[:2])
    except (ValueError, BadMessage):
        return ()
    if not isinstance(head, Mapping) or str(head.get("alg", "none")).lower() == "none":
        return ()
    if not isinstance(claims, Mapping) or not isinstance(claims.get("sub"), str):
        return ()
    inner = claims.get(_OPENAI_CLAIMS)
    account = inner.get(_OPENAI_ACCOUNT) if isinstance(inner, Mapping) else None
    told = [(name, claims.get(name)) for name in _ACCOUNT_CLAIMS] + [(_OPENAI_ACCOUNT, account)]
    return tuple((name, value) for name, value in told if isinstance(value, str) and value)


def session_mark(identity: Identity, session: str, upstream: str, key: bytes) -> bytes:
    """A keyed hash of a client's session, for whoever renews tokens."""
    if not identity.is_renewed or not session:
        return b""
    return _hash(key, "session", [upstream, session])


def _credentials(visit: Visit) -> Iterator[tuple[str, str]]:
    """Everything that may be a credential, by where it stands; each value of what was sent several times."""
    for header, raw in visit.headers:
        name, value = header.decode("latin-1"), raw.decode("latin-1")
        if name == "cookie":
            pairs = (each.strip().partition("=") for each in value.split(";"))
            yield from ((f"cookie {cookie}", given) for cookie, _, given in pairs if _COOKIE.search(cookie))
        elif name in _KNOWN or (_CREDENTIAL.search(name) and name not in _OF_ONE_REQUEST):
            bare = value.removeprefix("Bearer ").removeprefix("bearer ")
            yield name, "" if bare.strip().lower() == "bearer" else bare
    query = visit.query.decode("latin-1")
    # Some servers part a query at semicolons too.
    readings = dict.fromkeys([query, query.replace(";", "&")])
    queried = [pair for each in readings for pair in parse_qsl(each, encoding="latin-1")]
    yield from dict.fromkeys((f"?{name}".lower(), value) for name, value in queried if _CREDENTIAL.search(name))


def _unknown(visit: Visit) -> Sequence[str | bytes]:
    """All that may tell apart who brings no known credential."""
    query = [part for part in visit.query.split(b"&") if part not in _PASSING_IN_QUERY]
    kept = [part for name, value in sorted(visit.headers) if _is_kept(name) for part in (name, value)]
    return [visit.address, str(len(query)), *query, *kept]


def _is_kept(header: bytes) -> bool:
    if _PASSING.fullmatch(header) or header in SESSION_HEADERS:
        name = header.decode("latin-1")
        return _CREDENTIAL.search(name) is not None and name not in _OF_ONE_REQUEST
    return True


def _key_space(key: bytes, credential: str) -> str:
    """The space of one key; named as it always was."""
    return f"tenant-{blake2b(credential.encode(), key=key[:64], digest_size=8).hexdigest()}"


def _space(key: bytes, kind: str, parts: Iterable[str | bytes]) -> str:
    return f"tenant-{_hash(key, kind, parts).hex()}"


def _hash(key: bytes, kind: str, parts: Iterable[str | bytes]) -> bytes:
    """A hash of its own kind, which no parts of another kind and no other parts have."""
    encoded = (part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass") for part in parts)
    content = b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
    return blake2b(content, key=key[:64], digest_size=8, person=kind.encode()).digest()
