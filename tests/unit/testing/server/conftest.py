from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest

from contextfold.testing.server import Clock, StrictServer, strict_server

Post = Callable[..., httpx.Response]

PATHS = {
    "anthropic": "/v1/messages",
    "count": "/v1/messages/count_tokens",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "compact": "/v1/responses/compact",
    "gemini": "/v1beta/models/gemini-3.8-flash:generateContent",
    "gemini-stream": "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
}


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def running(clock: Clock) -> Iterator[StrictServer]:
    with strict_server(clock=clock, seed=b"tests") as server:
        yield server


@pytest.fixture
def server(running: StrictServer) -> StrictServer:
    running.forget()
    return running


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=60) as client:
        yield client


def headers(server: StrictServer, where: str) -> dict[str, str]:
    if where in ("anthropic", "count"):
        return {"x-api-key": server.token, "anthropic-version": "2023-06-01"}
    if where.startswith("gemini"):
        return {"x-goog-api-key": server.token}
    return {"authorization": f"Bearer {server.token}"}


@pytest.fixture
def post(server: StrictServer, client: httpx.Client) -> Post:
    """Send a body as it is, with the right key: `post("anthropic", body)`."""

    def send(where: str, body: Mapping[str, Any], **more: str) -> httpx.Response:
        further = {name.replace("_", "-"): value for name, value in more.items()}
        return client.post(server.url + PATHS[where], json=body, headers={**headers(server, where), **further})

    return send
