"""An inspector on a real socket and a real Chromium in front of it, for the length of a module."""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import contextfold as cf
from contextfold.cli.inspect import translated
from contextfold.inspector import Access, Inspector, OpenStores
from contextfold.inspector.app import assets
from tests.unit.inspector.visitor import WINDOW

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
SHOTS = Path(__file__).parents[3] / "build" / "inspector"
WORDS: dict[str, tuple[str, str]] = {
    key: (english, japanese)
    for key, english, japanese in re.findall(
        r'"?([\w-]+)"?: \["([^"]*)", "([^"]*)"\]', assets()["words.js"].data.decode()
    )
}
PATIENCE = 60_000  # milliseconds: far more than anything takes, so that a busy machine fails nothing


def opened(store: cf.Store, name: str) -> cf.Session:
    return cf.Session.on(store, name, window=WINDOW)


@contextmanager
def served(path: Path, *, read_only: bool = False) -> Iterator[tuple[str, Access]]:
    """The address of an inspector of a store, and who hands out its links."""
    server = pytest.importorskip("contextfold.inspector.server", reason="needs uvicorn")
    listening = server.listening_on(0)
    port = listening.getsockname()[1]
    access = Access(port=port)
    stores = OpenStores(
        lambda space: cf.open(path, space=space, read_only=read_only),
        label=path.name,
        open_session=opened,
        read_only=read_only,
    )
    ready = threading.Event()
    running = server.InspectorServer(Inspector(stores, access, translate=translated), ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(running.serve(sockets=[listening])), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield f"http://127.0.0.1:{port}", access
    finally:
        running.should_exit = True
        thread.join(60)
        listening.close()


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, where one is installed."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), timeout=2 * PATIENCE)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page of the inspector, and everything that it should not have done."""

    page: Any
    origin: str
    language: str = "en"
    told: list[str] = field(default_factory=list)  # consoles, errors, dialogs, broken policies
    asked: set[str] = field(default_factory=set)  # addresses elsewhere

    def say(self, key: str, **values: object) -> str:
        """What the page calls something, in the language of this visit."""
        return WORDS[key][1 if self.language == "ja" else 0].format(**values)

    def go(self, address: str = "", wait: str = "main > *") -> None:
        self.page.goto(f"{self.origin}/#/{address}")
        self.page.wait_for_selector(wait)

    def thread(self, name: str, rest: str = "") -> None:
        self.go(f"t/{quote(name, safe='')}{rest}", ".row[data-seq]" if not rest.startswith(("/saw", "/comp")) else "h1")

    def shot(self, name: str) -> None:
        """Kept for whoever looks at what the tests saw."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def dismiss(self, dialog: Any) -> None:
        self.told.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def check(self) -> None:
        assert self.told == [], self.told
        assert self.asked == set(), self.asked


@contextmanager
def visiting(browser: Any, origin: str, access: Access, **options: Any) -> Iterator[Visit]:
    """Somebody who opened the link; nothing may be told on the console, and nobody else may be asked."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en", **options})
    context.set_default_timeout(PATIENCE)
    context.add_init_script(
        "addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.violatedDirective))"
    )
    page = context.new_page()
    visit = Visit(page, origin, str(options.get("locale", "en")))
    page.on("console", lambda message: visit.told.append(f"{message.text} {message.location}"))
    page.on("pageerror", lambda error: visit.told.append(str(error)))
    page.on("dialog", visit.dismiss)
    page.on("request", lambda asked: None if asked.url.startswith(origin) else visit.asked.add(asked.url))
    page.goto(origin + access.new_link())
    page.wait_for_selector("table.sessions, .wrong")
    yield visit
    context.close()
