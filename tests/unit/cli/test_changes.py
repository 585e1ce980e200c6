"""Commands that change what the model sees. Each can be taken back, except forgetting, which asks first."""

import io
from pathlib import Path

import pytest

import contextfold as cf
from tests.crash.traces import readable
from tests.unit.cli.conftest import Cli


def seqs(store: Path, thread: str = "refactor-42") -> list[int]:
    with cf.open(store) as opened:
        return [message.seq for message in opened.thread(thread).view.messages]


def test_unfold_brings_everything_back_and_fold_folds_again(cli: Cli, store: Path, fold: int) -> None:
    folded = seqs(store)
    told = cli("unfold", fold, "--json").json
    assert told["after"] > told["before"]
    assert fold not in seqs(store)
    report = cli("fold", "--instructions", "focus on the API changes", "--to", "3k", "--json").json
    assert report["after"] < report["before"]
    assert report["trigger"] == "explicit"
    assert len(seqs(store)) == len(folded)


@pytest.mark.usefixtures("store")
def test_fold_tells_what_it_did_and_how_to_take_it_back(cli: Cli, fold: int) -> None:
    cli("unfold", fold)
    page = cli("fold", "--to", "3k").out
    assert "tokens became" in page
    assert "contextfold unfold" in page
    assert "provider's cache" in page


@pytest.mark.usefixtures("store")
def test_fold_with_nothing_to_fold_says_why(cli: Cli) -> None:
    told = cli("fold", "--to", "3k")
    assert told.code == 0
    assert "nothing was folded" in told.out


@pytest.mark.usefixtures("store")
def test_fold_by_another_recipe(cli: Cli, fold: int) -> None:
    cli("unfold", fold)
    report = cli("fold", "--policy", "sliding_window", "--to", "3k", "--json").json
    assert {each["kind"] for each in report["folds"]} == {"window"}


def test_a_preview_changes_nothing(cli: Cli, store: Path) -> None:
    before = store.read_bytes()
    assert cli("fold", "--preview", "--json").json["action"] == "send"
    assert "tokens are used" in cli("fold", "--preview").out
    assert store.read_bytes() == before


def test_a_preview_of_fold_tells_what_fold_then_does(cli: Cli, store: Path, fold: int) -> None:
    cli("unfold", fold)
    before = store.read_bytes()
    told, page = (
        cli("fold", "--to", "3k", "--preview", "--json").json["fold"],
        cli("fold", "--to", "3k", "--preview").out,
    )
    assert store.read_bytes() == before
    report = cli("fold", "--to", "3k", "--json").json
    assert (told["before"], told["after"], told["folds"]) == (report["before"], report["after"], report["folds"])
    assert f"{report['before']:,} tokens would become {report['after']:,}" in page
    assert "would be hidden: messages" in page


def test_a_preview_of_unfold_tells_what_unfold_then_does(cli: Cli, store: Path, fold: int) -> None:
    before, shown = store.read_bytes(), seqs(store)
    told, page = cli("unfold", fold, "--preview", "--json").json, cli("unfold", fold, "--preview").out
    assert store.read_bytes() == before
    report = cli("unfold", fold, "--json").json
    assert told["after"] - told["before"] == report["after"] - report["before"]
    assert set(told["shows"]["messages"]) == set(seqs(store)) - set(shown)
    assert f"stand-ins of folds {fold}" in page


def test_rewind_and_redo_end_where_they_began(cli: Cli, store: Path) -> None:
    before = seqs(store)
    told = cli("rewind", "--before", before[-1], "--json").json
    assert told["messages"] == [before[-1]] or before[-1] in told["messages"]
    assert before[-1] not in seqs(store)
    assert "redo" not in cli("redo").err
    assert seqs(store) == before


@pytest.mark.usefixtures("store")
def test_redo_without_a_rewind_says_what_to_do(cli: Cli) -> None:
    told = cli("redo")
    assert told.code == 3
    assert "nothing to redo" in told.err


@pytest.mark.usefixtures("store")
def test_rewind_wants_one_place(cli: Cli) -> None:
    assert cli("rewind").code == 2
    assert cli("rewind", "--before", 3, "--after", 4).code == 2
    assert cli("rewind", "--before", "yesterday").code == 2


def test_fork_makes_a_thread_that_shares_the_past(cli: Cli, store: Path) -> None:
    told = cli("fork", "--at", 3, "--as", "other-way", "--json").json
    assert told == {"thread": "other-way", "origin": "refactor-42", "at": 3}
    assert seqs(store, "other-way") == [1, 2, 3]
    assert cli("fork", "-t", "refactor-42", "--as", "other-way").code == 2


@pytest.mark.usefixtures("store")
def test_pin_and_unpin(cli: Cli) -> None:
    assert cli("pin", 1, 3, "--json").json["pinned"] == [1, 3]
    assert "pinned" in cli("show").out
    assert cli("unpin", 1, "--json").json["pinned"] == [3]
    assert cli("unpin", 1).code == 3


@pytest.mark.usefixtures("store")
def test_forget_asks_and_does_nothing_without_an_answer(cli: Cli) -> None:
    told = cli("forget", "--seq", 1)
    assert told.code == 8
    assert "--yes" in told.err
    assert cli("recall", "--seq", 1, "--json").json[0]["message"]


def test_forget_erases_and_the_rest_still_verifies(cli: Cli, store: Path) -> None:
    said = cli("recall", "--seq", 1, "--json").json[0]["message"]["content"]
    assert cli("forget", "--seq", 1, "--yes", "--json").json["erased"] >= 1
    assert str(said)[:40].encode() not in readable(store)
    assert cli("verify").code == 0
    assert cli("forget", "--seq", 9_999, "--yes").code == 3


@pytest.mark.parametrize(("typed", "code"), [("1\n", 0), ("no\n", 8), ("", 8)])
@pytest.mark.usefixtures("store")
def test_forget_on_a_terminal_wants_the_number_typed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(typed))
    told = cli("forget", "--seq", 1)
    assert told.code == code
    assert "no undo" in told.err


def test_a_checkpoint_is_a_place_to_return_to_with_its_files(cli: Cli, store: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    made = cli("checkpoint", "before refactor", "--workspace", work, "--json")
    assert made.json[0]["files"] == 1
    before = seqs(store)
    (work / "a.txt").write_text("two\n")
    assert "+two" in cli("diff", "--files", "before refactor").out
    with cf.open(store) as opened:
        opened.thread("refactor-42").append({"role": "user", "content": "and then"})
    assert "before refactor" in cli("checkpoint").out
    told = cli("rewind", "--to", "before refactor", "--files", "--preview", "--json").json
    assert told["is_preview"]
    assert [change["path"] for change in told["files"]] == ["a.txt"]
    assert cli("rewind", "--to", "before refactor", "--files").code == 0
    assert (work / "a.txt").read_text() == "one\n"
    assert seqs(store) == before
    assert cli("redo").code == 0
    assert (work / "a.txt").read_text() == "two\n"


@pytest.mark.usefixtures("store")
def test_a_thread_without_checkpoints_says_how_to_make_one(cli: Cli) -> None:
    assert "makes one" in cli("checkpoint").out
    assert cli("rewind", "--to", "nowhere").code == 3
    assert cli("rewind", "--time", "2020-01-01T00:00", "--preview").code == 0
    assert cli("rewind", "--time", "soon").code == 2


@pytest.mark.finding("K4")
@pytest.mark.parametrize(("language", "words"), [("en", "Earlier backups"), ("ja", "以前のバックアップ")])
@pytest.mark.usefixtures("store")
def test_forget_says_in_both_languages_what_it_cannot_promise(cli: Cli, language: str, words: str) -> None:
    told = cli("forget", "--seq", "2", "--yes", "--lang", language)
    assert told.code == 0
    assert words in told.out
