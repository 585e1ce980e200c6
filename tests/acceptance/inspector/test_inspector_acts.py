"""What can be changed on the page, each act in both languages: it asks once, tells what changes, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.inspector import Access
from contextfold.testing import session

from .house import Visit, chromium, served, visiting

LANGUAGES = ("en", "ja")
NO_FOLD = "() => !document.querySelector('.row[data-kind=\"fold\"]')"
GONE = """name => !document.querySelector(`tr[data-name="${name}"]`) && document.querySelector('tr[data-name]')"""
TITLED = "name => document.querySelector('h1')?.textContent === name"


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("acted")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_STATE_HOME", str(home / "state"))
        make(home)
        yield home / "agent.db"


def make(home: Path) -> None:
    """For each language and act a session of its own, one of them with files."""
    with cf.open(home / "agent.db") as store:
        for language in LANGUAGES:
            for act in ("fold", "pin", "rewind", "forget", "rename", "files"):
                thread = store.thread(f"{act} {language}", model="claude-sonnet-5-5")
                for message in session(5, tokens=4_000, language="en"):
                    thread.append(message)
            root = home / f"project-{language}"
            root.mkdir()
            (root / "notes.txt").write_text("as it was\n")
            held = cf.Session.on(store, f"files {language}")
            held.checkpoint("before the rewrite", workspace=root)
            (root / "notes.txt").write_text("changed\n")
            held.append({"role": "user", "content": "Now with a queue."})
            held.close()


@pytest.fixture(scope="module")
def place(store_path: Path) -> Iterator[tuple[Any, str, Access]]:
    with chromium() as browser, served(store_path) as (origin, access):
        yield browser, origin, access


@pytest.fixture(params=LANGUAGES)
def visit(place: tuple[Any, str, Access], request: pytest.FixtureRequest) -> Iterator[Visit]:
    with visiting(*place, locale=request.param) as found:
        yield found
        found.check()


def folds_of(path: Path, thread: str) -> int:
    with cf.open(path, read_only=True) as store:
        return len(store.thread(thread).folds)


def test_a_fold_tells_what_changes_is_made_taken_back_and_made_again(visit: Visit, store_path: Path) -> None:
    page, name = visit.page, f"fold {visit.language}"
    visit.thread(name)
    visit.button(visit.say("foldNow")).click()
    page.locator("dialog .turn b").first.wait_for()
    before, after = (int(each.replace(",", "")) for each in page.locator("dialog .turn b").all_inner_texts())
    assert after < before
    page.locator("#instructions").fill("Keep the names of files.")
    page.locator("#instructions").blur()
    page.wait_for_function("() => !document.querySelector('dialog button[type=submit]').disabled")
    assert visit.say("leave") in page.locator("dialog ul").inner_text()
    visit.shot(f"fold-asked-{visit.language}")
    visit.button(visit.say("go")).click()
    card = page.locator('.row[data-kind="fold"]').first
    card.wait_for()
    because = {"en": "somebody asked for it", "ja": "指示されたため"}[visit.language]
    assert because in card.inner_text()
    assert folds_of(store_path, name) == 1
    page.get_by_role("button", name=visit.say("unfold")).first.click()
    page.locator("dialog .turn b").first.wait_for()
    assert visit.say("fits") in page.locator("dialog .turn").inner_text()
    visit.button(visit.say("go")).click()
    page.wait_for_function(NO_FOLD)
    assert folds_of(store_path, name) == 0
    visit.button(visit.say("undo")).click()
    page.locator('.row[data-kind="fold"]').first.wait_for()
    assert folds_of(store_path, name) == 1


def test_undo_takes_a_fold_back(visit: Visit, store_path: Path) -> None:
    page, name = visit.page, f"files {visit.language}"
    visit.thread(name)
    visit.button(visit.say("foldNow")).click()
    visit.button(visit.say("go")).click()
    page.locator('.row[data-kind="fold"]').first.wait_for()
    visit.button(visit.say("undo")).click()
    page.wait_for_function(NO_FOLD)
    assert folds_of(store_path, name) == 0


def test_a_message_is_pinned_and_unpinned(visit: Visit, store_path: Path) -> None:
    page, name = visit.page, f"pin {visit.language}"
    visit.thread(name)
    visit.button(f"↑ {visit.say('oldest')}").click()
    page.locator('.row[data-seq="3"] .line').click()
    page.locator(".detail").get_by_role("button", name=visit.say("pin"), exact=True).click()
    visit.button(visit.say("go")).click()
    page.locator('.row[data-seq="3"] .chip', has_text=visit.say("pinned")).wait_for()
    visit.button(visit.say("undo")).click()
    page.wait_for_function(
        "words => document.querySelector('.row[data-seq=\"3\"] .line')?.textContent.includes(words) === false",
        arg=visit.say("pinned"),
    )
    with cf.open(store_path, read_only=True) as store:
        assert not store.thread(name).view.pinned


def test_a_rewind_tells_what_it_leaves_and_is_redone_and_a_fork_goes_its_own_way(
    visit: Visit, store_path: Path
) -> None:
    page, name = visit.page, f"rewind {visit.language}"
    visit.thread(name, "/at/5")
    page.locator(".detail").get_by_role("button", name=visit.say("rewindTo")).click()
    page.locator("dialog li", has_text=visit.say("behind")).wait_for()
    visit.button(visit.say("go")).click()
    page.locator('.row[data-seq="5"].gone').wait_for()
    visit.shot(f"rewound-{visit.language}")
    visit.button(visit.say("undo")).click()
    page.locator('.row[data-seq="5"]:not(.gone)').wait_for()
    page.locator(".detail").get_by_role("button", name=visit.say("forkHere")).click()
    page.locator("#entered").fill(f"{name}, otherwise")
    visit.button(visit.say("go")).click()
    page.wait_for_function(TITLED, arg=f"{name}, otherwise")
    with cf.open(store_path, read_only=True) as store:
        assert len(store.thread(f"{name}, otherwise").view.messages) == 5


def test_a_checkpoint_brings_its_files_back_when_that_is_ticked(visit: Visit, store_path: Path) -> None:
    page, name = visit.page, f"files {visit.language}"
    notes = store_path.parent / f"project-{visit.language}" / "notes.txt"
    visit.thread(name)
    checkpoint = page.locator('.row[data-kind="checkpointed"]')
    assert "before the rewrite" in checkpoint.inner_text()
    checkpoint.get_by_role("button", name=visit.say("rewindCheckpoint")).click()
    page.locator("dialog .turn b").first.wait_for()
    visit.button(visit.say("cancel")).click()
    page.locator("dialog").wait_for(state="detached")
    assert notes.read_text() == "changed\n"
    checkpoint.get_by_role("button", name=visit.say("rewindCheckpoint")).click()
    page.get_by_label(visit.say("withFiles")).check()
    page.locator("dialog li", has_text="notes.txt").wait_for()
    visit.shot(f"files-asked-{visit.language}")
    visit.button(visit.say("go")).click()
    page.locator(".row.gone", has_text="Now with a queue.").wait_for()
    assert notes.read_text() == "as it was\n"
    visit.button(visit.say("undo")).click()
    page.locator(".row:not(.gone)", has_text="Now with a queue.").wait_for()
    assert notes.read_text() == "changed\n"


def test_a_session_is_renamed_exported_archived_and_listed_again(visit: Visit) -> None:
    page, name = visit.page, f"renamed {visit.language}"
    visit.thread(f"rename {visit.language}")
    visit.button(visit.say("rename")).click()
    page.locator("#entered").fill(name)
    visit.button(visit.say("go")).click()
    page.wait_for_function(TITLED, arg=name)
    with page.expect_download() as download:
        visit.button(visit.say("export")).click()
    assert download.value.suggested_filename == "session.jsonl"
    visit.button(visit.say("archive")).click()
    visit.button(visit.say("go")).click()
    page.wait_for_function(GONE, arg=name)
    visit.button(visit.say("archived")).click()
    page.locator(f'tr[data-name="{name}"]').wait_for()
    visit.shot(f"archived-{visit.language}")


def test_forgetting_wants_the_name_typed(visit: Visit) -> None:
    page, name = visit.page, f"forget {visit.language}"
    visit.thread(name)
    visit.button(visit.say("forget")).first.click()
    erase = visit.button(visit.say("eraseIt"))
    assert erase.is_disabled()
    page.locator("#entered").fill(name[:-1])
    assert erase.is_disabled()
    page.locator("#entered").fill(name)
    erase.click()
    page.locator(".row .txt", has_text="forgotten").first.wait_for()
