"""The inspector at size: 100,000 messages in one session, 100,000 sessions in one store, in a real browser.

Measures answers of the server (median over many pages), and in Chromium the first useful paint of a session that was
never read before, frames without real rows while scrolling, memory of the whole renderer, and how soon a turn of
another process appears. `python -m benchmarks.inspector` runs everything; `--quick` a twentieth of the size.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import contextfold as cf

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
MANY, PAGES, TURNS = 100_000, 60, 9
THREAD = "long"
SPEEDS = (1_500, 3_000, 6_000, 12_000)  # pixels a second: from a wheel to a flick
# Scrolls for so many milliseconds; counts frames in which no row, and in which not every row in sight, was a real one.
_SCROLL = """async ([speed, ms]) => {
  const list = document.querySelector('.list'), up = list.scrollTop > 1000 ? -1 : 1;
  let frames = 0, blank = 0, partly = 0, slowest = 0, before = performance.now(), at = list.scrollTop;
  for (const end = before + ms; performance.now() < end; frames++) {
    await new Promise(requestAnimationFrame);
    const now = performance.now(); slowest = Math.max(slowest, now - before);
    at += up * speed * (now - before) / 1000; before = now; list.scrollTop = at;
    await new Promise(done => {
      const then = new MessageChannel(); then.port1.onmessage = done; then.port2.postMessage(0); });
    const box = list.getBoundingClientRect();
    const seen = [...document.querySelectorAll('.row')].filter(row => {
      const place = row.getBoundingClientRect(); return place.bottom > box.top && place.top < box.bottom; });
    const real = seen.filter(row => !row.classList.contains('ghost'));
    if (!real.length) blank++;
    if (real.length < seen.length) partly++;
  }
  return [frames, blank, partly, Math.round(slowest)];
}"""
_WHOLE = "() => document.querySelector('.row')?.getAttribute('aria-setsize') > 1000"
_APPENDING = """
import sys, time, contextfold as cf
with cf.open(sys.argv[1], recall=False) as store:
    thread = store.thread("watched")
    for line in sys.stdin:
        thread.append({"role": "user", "content": line.strip()})
        print(time.time(), flush=True)
"""


def make(path: Path, many: int) -> None:
    """One session of so many messages, and as many sessions of one."""
    with cf.open(path, recall=False) as store:
        thread = store.thread(THREAD, model="claude-sonnet-5-5")
        with store.batch():
            for number in range(many):
                thread.append(
                    {"role": ("user", "assistant")[number % 2], "content": f"message {number} " + "word " * 20}
                )
        for start in range(0, many, 1_000):
            with store.batch():
                for number in range(start, min(many, start + 1_000)):
                    store.thread(f"session-{number}").append({"role": "user", "content": f"hello {number}"})
        store.thread("watched", model="claude-sonnet-5-5").append({"role": "user", "content": "hello"})
        thread.append({"role": "user", "content": "the newest"})


@contextmanager
def inspected(path: Path) -> Iterator[str]:
    """The link of an inspector in a process of its own."""
    command = [sys.executable, "-m", "contextfold", "inspect", str(path), "--json", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = ""
        for line in process.stdout:
            told += line
            if line.startswith("}"):
                break
        try:
            yield str(json.loads(told)["link"])
        finally:
            process.terminate()


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    work()
    return 1_000 * (time.perf_counter() - started)


def read(opener: OpenerDirector, address: str) -> Any:
    with opener.open(address, timeout=600) as answer:
        return json.loads(answer.read())


def answers(link: str, many: int) -> None:
    """Pages as the server gives them, over a connection of their own each."""
    opener, base = build_opener(HTTPCookieProcessor(CookieJar())), link.partition("/launch")[0] + "/api/v1"
    opener.open(link, timeout=600).close()
    end = timed(lambda: read(opener, f"{base}/threads/{THREAD}/newest?limit=100"))
    whole = timed(lambda: read(opener, f"{base}/threads/{THREAD}/rows?limit=100"))
    step = max(1, many // PAGES)
    rows = [
        timed(lambda at=at: read(opener, f"{base}/threads/{THREAD}/rows?start={at}&limit=100"))  # type: ignore[misc]
        for at in range(0, many, step)
    ]
    after, pages = None, []
    for _ in range(PAGES):
        asked = f"{base}/threads?limit=50" + ("" if after is None else f"&after={after}")
        started = time.perf_counter()
        after = read(opener, asked)["after"]
        pages.append(1_000 * (time.perf_counter() - started))
    tell("the end of the long session, never read before", f"{end:,.0f} ms")
    tell("the whole of it, read for the first time", f"{whole:,.0f} ms")
    tell(
        "a page of 100 rows, p50 / p95",
        f"{statistics.median(rows):.1f} / {statistics.quantiles(rows, n=20)[-1]:.1f} ms",
    )
    tell(
        "a page of 50 sessions, p50 / p95",
        f"{statistics.median(pages):.1f} / {statistics.quantiles(pages, n=20)[-1]:.1f} ms",
    )


def cold(browser: Any, path: Path) -> None:
    """The long session, which nobody has opened in this process, from a link of its own and from the list."""
    for way in ("its own address", "the list of sessions"):
        found = []
        for _ in range(3):
            with inspected(path) as link:
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(link)
                page.wait_for_selector("tr[data-name]")
                if way == "its own address":
                    page.goto("about:blank")
                started = time.perf_counter()
                page.goto(f"{link.partition('/launch')[0]}/#/t/{THREAD}")
                page.wait_for_selector(".row[data-seq]")
                found.append(1_000 * (time.perf_counter() - started))
                page.close()
        tell(f"first rows, never read before, from {way}", " / ".join(f"{each:,.0f}" for each in sorted(found)) + " ms")


def renderers(browser: Any) -> dict[int, tuple[float, float]]:
    """Of each process that draws pages: resident memory, and what no other process shares, in MB."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    found = {}
    for each in processes:
        if each["type"] == "renderer":
            lines = Path(f"/proc/{each['id']}/smaps_rollup").read_text().splitlines()[1:]
            sizes = {name: int(rest.split()[0]) / 1024 for name, _, rest in (line.partition(":") for line in lines)}
            found[each["id"]] = sizes["Rss"], sizes["Private_Clean"] + sizes["Private_Dirty"]
    return found


def weigh(what: str, now: dict[int, tuple[float, float]], empty: dict[int, tuple[float, float]]) -> None:
    """The process that came since, beside one that draws an empty page."""
    (whole, own), bare = max(each for number, each in now.items() if number not in empty), max(empty.values())
    tell(
        f"memory of the renderer {what}",
        f"{whole:.0f} MB, {whole - bare[0]:.0f} above an empty page; {own:.0f} its own",
    )


def paint(browser: Any, link: str, path: Path) -> None:
    """What a person sees, and when."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.new_page().goto("about:blank")
    empty, page = renderers(browser), context.new_page()
    page.set_default_timeout(120_000)
    page.goto(link)
    page.wait_for_selector("tr[data-name]")
    origin = link.partition("/launch")[0]
    page.goto(f"{origin}/#/t/{THREAD}")
    page.wait_for_function(_WHOLE)
    page.wait_for_selector(".legend b")
    weigh("with the long session open", renderers(browser), empty)
    for speed in SPEEDS:
        frames, blank, partly, slowest = page.evaluate(_SCROLL, [speed, 4_000])
        found = f"{blank} blank, {partly} partly of {frames} frames, the slowest {slowest} ms"
        tell(f"scrolling {speed:,} pixels a second", found)
    weigh("after scrolling", renderers(browser), empty)
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    weigh("once garbage is collected", renderers(browser), empty)
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
    tell("memory of the page's scripts, elements in it", f"{heap:.0f} MB, {page.locator('*').count():,}")
    paints = []
    for _ in range(5):
        page.goto("about:blank")
        paints.append(timed(lambda: (page.goto(f"{origin}/#/t/{THREAD}"), page.wait_for_selector(".row[data-seq]"))))
    tell("first rows of the long session, read before, best of 5", f"{min(paints):,.0f} ms")
    live(page, origin, path)


def live(page: Any, origin: str, path: Path) -> None:
    """From another process's append to the row on the screen."""
    page.goto(f"{origin}/#/t/watched")
    page.wait_for_selector(".row[data-seq]")
    page.wait_for_selector("#live:not(.off)")
    command = [sys.executable, "-c", _APPENDING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        delays = []
        for turn in range(TURNS):
            words = f"turn {turn} at {time.time_ns()}"
            writer.stdin.write(f"{words}\n")
            writer.stdin.flush()
            written = float(writer.stdout.readline())
            page.locator(".row .txt", has_text=words).wait_for()
            delays.append(1_000 * (time.time() - written))
        writer.stdin.close()
    tell("a turn of another process is seen after, p50", f"{statistics.median(delays):,.0f} ms")


def tell(what: str, found: str) -> None:
    print(f"{what:<52} {found}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--store", type=Path, help="keep the store here, and use it where it is there already")
    asked = parser.parse_args()
    many = MANY // 20 if asked.quick else MANY
    with tempfile.TemporaryDirectory() as directory:
        path = asked.store or Path(directory) / "large.db"
        if not path.exists():
            tell(
                f"{many:,} messages and {many:,} sessions made in", f"{timed(lambda: make(path, many)) / 1_000:,.0f} s"
            )
        with inspected(path) as link:
            answers(link, many)
        if CHROMIUM is None:
            print("There is no Chromium on this machine: the page itself is not measured.")
            return
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only where there is a browser

        with sync_playwright() as running:
            browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            cold(browser, path)
            with inspected(path) as link:
                paint(browser, link, path)
            browser.close()


if __name__ == "__main__":
    main()
