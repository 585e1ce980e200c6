"""Take the pictures of the inspector and of the demo's report that README and docs show, from generated sessions.

Run it when a page changes: `python scripts/write_screenshots.py`, or with `report` or `inspector` for one of them.
Needs a Chromium of the system.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import contextfold as cf
from contextfold.inspector import Access, Inspector, OpenStores
from contextfold.inspector.server import InspectorServer, listening_on
from contextfold.testing import SYSTEM, session, tools

DOCS = Path(__file__).parent.parent / "docs"
WINDOW = 24_000
SIZE = {"width": 1120, "height": 1060}
REPORT_SIZE = {"width": 1120, "height": 1240}
PHONE = 390
PICTURES = (("inspector", "t/shop-refunds", ".legend b"), ("inspector-saw", "t/shop-refunds/saw/41", ".part"))


def take_report(directory: Path, browser: Any) -> None:
    """The top of the demo's report, after a look that no width or theme has to be scrolled sideways."""
    demo = [sys.executable, "-m", "contextfold", "demo", str(directory), "--lang", "en"]
    subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
    target = DOCS / "report.png"
    for theme in ("dark", "light"):
        page = browser.new_context(viewport=REPORT_SIZE, color_scheme=theme, locale="en").new_page()
        page.goto((directory / "report.html").as_uri())
        for width in (PHONE, REPORT_SIZE["width"]):
            page.set_viewport_size({"width": width, "height": REPORT_SIZE["height"]})
            if page.evaluate("document.documentElement.scrollWidth") > width:
                raise SystemExit(f"The report is wider than {width} pixels.")
        page.screenshot(path=target)  # the light one stays
    print(f"wrote {target.relative_to(DOCS.parent)}, {target.stat().st_size // 1024} kB")


def make(path: Path) -> None:
    """A session that folded often, told as if a provider had billed it."""
    with cf.open(path) as store:
        held = cf.Session.on(store, "shop-refunds", "claude-sonnet-5-5", window=WINDOW)
        before = 0
        for message in session(1, tokens=60_000, language="en"):
            if message["role"] != "assistant":
                held.append(message)
                continue
            request = held.prepare(system=SYSTEM, tools=tools())
            counted = request.report.after
            read = 900 if request.report.folds else min(before, counted)
            bill = {
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": counted - read,
                "output_tokens": 120,
            }
            usage = {"input_tokens": 0, **bill}
            held.append({**message, "type": "message", "stop_reason": "end_turn", "usage": usage})
            before = counted
        held.thread.pin(1)
        held.close()


def take(path: Path, browser: Any) -> None:
    """Each picture in each theme."""
    listening = listening_on(0)
    port = listening.getsockname()[1]
    access, ready = Access(port=port), threading.Event()
    stores = OpenStores(
        lambda space: cf.open(path, space=space),
        label="agent.db",
        open_session=lambda store, name: cf.Session.on(store, name, window=WINDOW),
    )
    server = InspectorServer(Inspector(stores, access), ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    ready.wait(60)
    for theme in ("light", "dark"):
        page = browser.new_context(viewport=SIZE, color_scheme=theme, locale="en").new_page()
        page.goto(f"http://127.0.0.1:{port}{access.new_link()}")
        page.wait_for_selector("tr[data-name]")
        for name, address, wait in PICTURES:
            page.goto(f"http://127.0.0.1:{port}/#/{address}")
            page.wait_for_selector(wait)
            page.wait_for_function("() => document.querySelector('svg.chart')")
            page.evaluate("document.getElementById('language').hidden = true")  # its letters are not on every machine
            target = DOCS / f"{name}-{theme}.png"
            page.screenshot(path=target)
            print(f"wrote {target.relative_to(DOCS.parent)}, {target.stat().st_size // 1024} kB")
    server.should_exit = True
    thread.join(30)


def main() -> int:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only this script needs it

    wanted = sys.argv[1:] or ["report", "inspector"]
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("There is no Chromium on this machine.")
        return 1
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if "report" in wanted:
            take_report(Path(directory) / "demo", browser)
        if "inspector" in wanted:
            path = Path(directory) / "agent.db"
            make(path)
            take(path, browser)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
