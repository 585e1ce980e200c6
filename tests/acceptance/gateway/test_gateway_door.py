"""Who may come in, on every route; and what is too large to be let in."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold.errors import BadConfiguration
from contextfold.gateway import GatewaySettings, secrets_in
from contextfold.gateway.server import bound
from tests.acceptance.gateway.house import SECRETS, House, gateway, web
from tests.acceptance.gateway.plain_upstream import PlainUpstream, plain_upstream

ROUTES = [
    ("POST", "/v1/messages"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1beta/models/gemini-3-pro:generateContent"),
    ("GET", "/v1/models"),
    ("GET", "/metrics"),
    ("GET", "/readyz"),
    ("HEAD", "/"),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path_factory.mktemp("door") / "store.db", upstream.url, most_bytes=10_000) as house:
        yield house


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "attacker.example"}, 421),
        ({"host": "127.0.0.1.attacker.example:80"}, 421),
        ({"host": ""}, 421),
        ({"origin": "https://attacker.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("GET", "/healthz")])
def test_no_web_page_and_no_foreign_name_reaches_any_route(
    house: House, upstream: PlainUpstream, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    base = house.origin if path == "/healthz" else house.url
    before = len(upstream.arrived)
    assert web().request(method, base + path, headers=headers).status_code == status
    assert len(upstream.arrived) == before


@pytest.mark.parametrize("token", ["", "/wrong", f"/{SECRETS.token[:-1]}", f"/{SECRETS.token}x"])
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_nothing_is_forwarded_without_the_token(
    house: House, upstream: PlainUpstream, method: str, path: str, token: str
) -> None:
    before = len(upstream.arrived)
    answer = web().request(method, house.origin + token + path, headers={"x-api-key": SECRETS.token})
    assert answer.status_code == 401
    assert len(upstream.arrived) == before


def test_the_token_may_come_in_a_header_which_is_not_passed_on(house: House, upstream: PlainUpstream) -> None:
    answer = web().get(f"{house.origin}/v1/models", headers={"x-contextfold-token": SECRETS.token})
    assert answer.status_code == 200
    assert "x-contextfold-token" not in upstream.arrived[-1].headers
    wrong = web().get(f"{house.url}/v1/models", headers={"x-contextfold-token": "wrong"})
    assert wrong.status_code == 401


def test_only_health_is_told_to_everybody_on_this_machine(house: House) -> None:
    assert web().get(f"{house.origin}/healthz").text == "ok"
    assert web().get(f"{house.url}/readyz").text == "ready"
    assert "contextfold_gateway_turned_away_total" in web().get(f"{house.url}/metrics").text
    assert web().head(f"{house.url}/").status_code == 200
    assert web().head(house.url).status_code == 200


def test_a_websocket_is_refused_at_once(house: House) -> None:
    headers = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-key": "x", "sec-websocket-version": "13"}
    assert web().get(f"{house.url}/v1/responses", headers=headers).status_code == 426


def test_a_body_above_the_cap_is_refused_in_the_clients_shape(house: House, upstream: PlainUpstream) -> None:
    before = len(upstream.arrived)
    answer = web().post(f"{house.url}/v1/messages", content=b"x" * 20_000)
    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "request_too_large"
    assert len(upstream.arrived) == before


def test_headers_above_the_cap_are_refused(house: House) -> None:
    assert web().get(f"{house.url}/v1/models", headers={"x-any": "y" * 70_000}).status_code in (400, 431)


def test_a_body_that_stops_arriving_is_given_up(tmp_path: Path, upstream: PlainUpstream) -> None:
    hasty = gateway(tmp_path / "store.db", upstream.url, patience=0.2)
    with hasty as house, socket.create_connection(("127.0.0.1", house.port), timeout=60) as connection:
        head = f"POST /{SECRETS.token}/v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{{"
        connection.sendall(head.encode())
        assert connection.recv(1_000).split()[1] == b"408"


def test_json_of_any_depth_is_nobodys_end(house: House, upstream: PlainUpstream) -> None:
    deep = b'{"model":"m","messages":' + b"[" * 4_000 + b"]" * 4_000 + b"}"
    answer = web().post(f"{house.url}/v1/messages", content=deep)
    assert answer.status_code == 200
    assert upstream.arrived[-1].body == deep
    assert web().get(f"{house.origin}/healthz").status_code == 200


def test_a_gateway_is_not_reached_from_elsewhere_by_accident() -> None:
    with pytest.raises(BadConfiguration, match="without TLS"):
        bound(GatewaySettings(host="0.0.0.0", port=0))  # noqa: S104  # refused
    bound(GatewaySettings(host="0.0.0.0", port=0, is_public=True)).close()  # noqa: S104  # wanted


def test_token_and_key_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    first, second = secrets_in(tmp_path / "state"), secrets_in(tmp_path / "state")
    assert first == second
    assert len(first.token) >= 32
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "state").iterdir()} == {0o600}


def test_only_addresses_from_the_settings_are_sent_to(house: House, upstream: PlainUpstream) -> None:
    headers = {"x-forwarded-host": "attacker.example", "x-api-base": "http://127.0.0.1:9"}
    with socket.create_connection(("127.0.0.1", house.port), timeout=60) as connection:
        target = f"http://127.0.0.1:9/{SECRETS.token}/v1/models"
        connection.sendall(f"GET {target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        assert connection.recv(1_000).split()[1] in (b"200", b"400", b"401")
    assert web().get(f"{house.url}/v1/models", headers=headers).status_code == 200
    assert "x-forwarded-host" not in upstream.arrived[-1].headers
