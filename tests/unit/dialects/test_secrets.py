"""Keys and headers never reach what is written down, at whatever depth they stand; everything else does."""

from __future__ import annotations

import pytest

from contextfold.dialects import tools_without_secrets, without_secrets
from contextfold.dialects.wire import body_without_secrets
from contextfold.domain import decode, encode

NAMES = ["extra_headers", "extra_query", "headers", "authorization", "authorization_token"]


@pytest.mark.parametrize("name", NAMES)
def test_settings_lose_keys_and_headers_at_any_depth(name: str) -> None:
    given = {"a": [{"b": {name: "secret", "c": 1}}, "words"], name: "secret", "d": ("e", {name: "secret"})}
    assert without_secrets(given) == {"a": [{"b": {"c": 1}}, "words"], "d": ["e", {}]}


def test_settings_without_a_secret_are_the_very_same() -> None:
    given = {"a": [{"b": {"c": 1}}], "temperature": 0.5}
    assert without_secrets(given) is given


@pytest.mark.parametrize("name", NAMES)
def test_only_a_server_s_tool_loses_its_keys_and_a_schema_stays_whole(name: str) -> None:
    server = {"type": "mcp", "server_label": "db", name: "secret"}
    schema = {"name": "call", "input_schema": {"type": "object", "properties": {name: {"type": "string"}}}}
    bare = decode(tools_without_secrets(encode([server, schema])))
    assert bare == [{"type": "mcp", "server_label": "db"}, schema]


@pytest.mark.parametrize(
    "tools", [[{"name": "call"}], [{"name": "call", "properties": {"headers": 1}}], {"headers": 1}]
)
def test_tools_without_a_secret_are_the_very_same_bytes(tools: object) -> None:
    written = encode(tools)
    assert tools_without_secrets(written) is written


def test_a_body_loses_secrets_of_settings_and_tools_and_keeps_what_was_said() -> None:
    body = {
        "model": "m",
        "headers": {"x": "secret"},
        "metadata": {"authorization": "secret", "user_id": "u"},
        "messages": [{"role": "user", "content": [{"headers": "said"}]}],
        "tools": [{"type": "mcp", "authorization": "secret"}, {"name": "f", "input_schema": {"headers": {}}}],
    }
    assert decode(body_without_secrets(encode(body), ("messages",), "tools")) == {
        "model": "m",
        "metadata": {"user_id": "u"},
        "messages": [{"role": "user", "content": [{"headers": "said"}]}],
        "tools": [{"type": "mcp"}, {"name": "f", "input_schema": {"headers": {}}}],
    }


def test_a_body_without_a_secret_is_the_very_same() -> None:
    body = b'{"model": "m",  "messages": [{"role":"user","content":[{"headers":"said"}]}], "top_p": 1.0}'
    assert body_without_secrets(body, ("messages",), "tools") is body


def test_what_holds_no_secret_keeps_its_bytes_beside_what_does() -> None:
    body = b'{"headers":{},"metadata":{"user_id":  "u"},"top_p":1.0}'
    assert body_without_secrets(body, ("messages",), "tools") == b'{"metadata":{"user_id":  "u"},"top_p":1.0}'
