"""Nobody looks who did not open the link, and no other page can ask or change anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextfold.inspector import ROUTES, Access
from contextfold.inspector.app import CONTENT_POLICY
from tests.effort import least

from .visitor import HOST, PORT, Visitor, inspector_of

TARGETS = [
    *(
        (
            route.method,
            "/api/v1"
            + route.path.format_map({"thread": "shop%2Frefunds", "seq": 1, "number": 1, "other": 2, "fold": 1}),
        )
        for route in ROUTES
    ),
    ("GET", "/"),
    ("GET", "/app.js"),
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/api/v1/changes"),
]
FOREIGN: dict[str, dict[str, str | None]] = {
    "no cookie": {"cookie": None},
    "another's cookie": {"cookie": "contextfold_inspector_8788=guess"},
    "foreign host": {"host": "evil.example"},
    "another port's host": {"host": "127.0.0.1:9999"},
    "no host": {"host": None},
    "foreign origin": {"origin": "http://evil.example"},
    "another port's origin": {"origin": "http://127.0.0.1:9999"},
    "origin of nobody": {"origin": "null"},
    "cross-site": {"sec_fetch_site": "cross-site"},
    "same-site": {"sec_fetch_site": "same-site"},
    "huge headers": {"x_many": "x" * 70_000},
}


@pytest.mark.parametrize("case", FOREIGN)
async def test_every_route_turns_away_whoever_did_not_open_the_link_or_comes_from_another_page(
    visitor: Visitor, case: str
) -> None:
    for method, target in TARGETS:
        answer = await visitor.ask(method, target, b"{}", **FOREIGN[case])
        assert answer.status in (401, 403, 421, 431), (case, method, target)
        assert "access-control-allow-origin" not in answer.headers


async def test_every_change_needs_the_token_that_only_the_page_can_read(visitor: Visitor) -> None:
    changes = [(method, target) for method, target in TARGETS if method == "POST"]
    assert len(changes) > 8
    for method, target in changes:
        for token in (None, "", "0" * 64):
            answer = await visitor.ask(method, target, b"{}", x_contextfold_csrf=token)
            assert answer.status == 403, (target, token)
    rows = (await visitor.get("/threads/shop%2Frefunds/rows")).json
    assert rows["last"] == (await visitor.get("/threads/shop%2Frefunds/rows")).json["last"]


async def test_a_link_works_once_and_its_cookie_is_out_of_scripts_reach(store_path: Path) -> None:
    visitor = inspector_of(store_path)
    link = visitor.access.new_link()
    first = await visitor.ask("GET", link)
    cookie = first.headers["set-cookie"]
    assert first.status == 200
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert (await visitor.ask("GET", link)).status == 401
    assert (await visitor.ask("GET", "/launch?code=guess")).status == 401
    assert (await visitor.ask("GET", "/launch?code=%ff")).status == 401
    again = await visitor.ask("GET", link, cookie=cookie.partition(";")[0])
    assert again.status == 200
    assert "set-cookie" not in again.headers
    await visitor.inspector.close()


async def test_a_page_of_our_own_may_ask_and_other_programs_with_the_cookie_too(visitor: Visitor) -> None:
    for headers in (
        {},
        {"origin": "http://127.0.0.1:8788", "sec_fetch_site": "same-origin"},
        {"host": "localhost:8788"},
    ):
        assert (await visitor.ask("GET", "/api/v1/about", **headers)).status == 200  # type: ignore[arg-type]


async def test_every_answer_carries_the_policy_that_forbids_everything_but_our_own_files(visitor: Visitor) -> None:
    for _, target in TARGETS[-4:-1]:
        headers = (await visitor.ask("GET", target)).headers
        assert headers["content-security-policy"] == CONTENT_POLICY
        assert headers["x-content-type-options"] == "nosniff"
    assert CONTENT_POLICY.startswith("default-src 'none'")
    assert "unsafe" not in CONTENT_POLICY


async def test_nothing_outside_the_page_is_served(visitor: Visitor) -> None:
    for target in ("/../access.py", "/%2e%2e/access.py", "/assets/app.js", "/app.py", "/etc/passwd", "//app.js"):
        assert (await visitor.ask("GET", target)).status == 404


async def test_a_tag_saves_sending_the_same_file_again(visitor: Visitor) -> None:
    first = await visitor.ask("GET", "/app.js")
    again = await visitor.ask("GET", "/app.js", if_none_match=first.headers["etag"])
    assert (first.status, again.status, again.body) == (200, 304, b"")
    assert (await visitor.ask("PUT", "/app.js")).status == 405


async def test_what_is_refused_is_said_in_the_readers_language(store_path: Path) -> None:
    visitor = inspector_of(store_path, translate=lambda language, text: f"{language}: {text}")
    assert (await visitor.ask("GET", "/", accept_language="ja-JP")).body.startswith(b"ja: ")
    assert (await visitor.ask("GET", "/", accept_language="fr")).body.startswith(b"en: ")
    await visitor.inspector.close()


@pytest.mark.finding("K14")
@pytest.mark.parametrize("piece", ["\\", '\\"', '"', "a=b; ", "=", ";", "a", "\\1", "contextfold_inspector_8788=a; "])
def test_no_cookie_takes_longer_than_it_is_long(piece: str) -> None:
    access = Access(port=PORT)

    def admitted(size: int) -> float:
        cookie = 'a="' + piece * (size // len(piece)) + '"'
        headers = [(b"host", HOST.encode()), (b"cookie", cookie.encode())]
        scope = {"method": "GET", "path": "/", "query_string": b"", "headers": headers}
        return least(lambda: access.admit(scope), 3)

    assert admitted(60_000) < 40 * max(admitted(3_000), 0.0005)
