"""Commands that look at a store: for people a page, for programs JSON; nothing is changed."""

from pathlib import Path

import pytest

import contextfold as cf
from tests.unit.cli.conftest import Cli


@pytest.mark.usefixtures("store")
def test_threads_lists_each_thread_with_its_size(cli: Cli) -> None:
    assert "refactor-42" in cli("threads").out
    (row,) = cli("threads", "--json").json
    assert row["name"] == "refactor-42"
    assert row["model"] == "claude-sonnet-5-5"
    assert row["messages"] > row["shown"] > 0
    assert row["folds"] == 1
    assert cli("threads", "--names").out == "refactor-42\n"


def test_an_empty_store_says_how_to_fill_it(cli: Cli, tmp_path: Path) -> None:
    cf.open(tmp_path / "contextfold.db").close()
    assert "contextfold import" in cli("threads").out


@pytest.mark.usefixtures("store")
def test_show_marks_folds_and_sizes(cli: Cli, fold: int) -> None:
    page = cli("show").out
    assert page.startswith("refactor-42 · claude-sonnet-5-5 · head ")
    assert f"▸ {fold}  fold · summary" in page
    assert "hides " in page
    assert " tokens" in page
    assert "more lines" in page
    assert "more lines" not in cli("show", "--full").out


def test_show_for_programs_is_the_view(cli: Cli, store: Path) -> None:
    shown = cli("show", "refactor-42", "--json").json
    with cf.open(store) as opened:
        view = opened.thread("refactor-42").view
        assert shown["head"] == view.head
        assert shown["count"]["tokens"] == view.count.tokens
        assert [message["seq"] for message in shown["messages"]] == [message.seq for message in view.messages]
    assert {message["kind"] for message in shown["messages"]} == {"message", "stand_in"}


@pytest.mark.usefixtures("store")
def test_show_looks_at_the_end_and_at_the_past(cli: Cli, fold: int) -> None:
    assert len(cli("show", "--last", 2, "--json").json["messages"]) == 2
    assert "messages before" in cli("show", "--last", 2).out
    before = cli("show", "--at", fold - 1, "--json").json
    assert "stand_in" not in {message["kind"] for message in before["messages"]}
    assert cli("show", "--at", 9_999).code == 3


@pytest.mark.usefixtures("store")
def test_folds_tells_what_each_hides_and_why(cli: Cli, fold: int) -> None:
    (told,) = cli("folds", "--json").json
    assert told["id"] == fold
    assert told["kind"] == "summary"
    assert told["before"] > told["after"] > 0
    assert told["details"]["trigger"] == "explicit"
    assert told["stand_in"]["text"]
    page = cli("folds").out
    assert f"▸ {fold}" in page
    assert "trigger: explicit" in page


@pytest.mark.usefixtures("store")
def test_a_thread_without_folds_says_so(cli: Cli, fold: int) -> None:
    cli("unfold", fold)
    assert "sees everything" in cli("folds").out


def test_stats_are_those_of_the_session(cli: Cli, store: Path) -> None:
    stats = cli("stats", "--json").json
    with cf.Session.open(store, thread="refactor-42") as session:
        assert stats["messages"] == session.stats.messages
        assert stats["tokens"] == session.stats.tokens
        assert stats["hidden"] == session.stats.hidden > 0
        assert (stats["spent"], stats["unit"]) == (round(session.stats.spent, 6), session.stats.unit)
    assert stats["folds"] == {"summary": 1}
    assert stats["events"]["appended"] == stats["messages"]
    assert "hidden" in cli("stats").out


@pytest.mark.usefixtures("store")
def test_diff_shows_what_a_fold_took_and_put(cli: Cli, fold: int) -> None:
    change = cli("diff", "--json").json
    assert change["to"] == fold
    assert change["tokens"]["after"] < change["tokens"]["before"]
    assert [each["seq"] for each in change["new"]] == [fold]
    assert len(change["gone"]) > 1
    page = cli("diff").out
    assert "tokens are unchanged" in page
    assert f"▸ {fold}" in page
    assert "- " in page


@pytest.mark.usefixtures("store")
def test_diff_of_a_place_with_itself_is_nothing(cli: Cli) -> None:
    assert "sees the same" in cli("diff", 3, 3).out
    assert cli("diff", 1, 3, "--json").json["messages"] == {"before": 1, "after": 3}


@pytest.mark.usefixtures("store")
def test_diff_without_anything_to_compare_says_what_to_name(cli: Cli) -> None:
    told = cli("diff", "--sent")
    assert told.code == 3
    assert "Name two seqs" in told.err
    assert cli("diff", 1, 2, 3).code == 2


def test_diff_compares_two_requests_that_were_sent(cli: Cli, tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "contextfold.db", thread="t", model="claude-sonnet-5-5") as session:
        for turn in range(2):
            session.append({"role": "user", "content": f"question {turn}"})
            session.prepare()
            session.append({"role": "assistant", "content": f"answer {turn}"})
    change = cli("diff", "--sent", "--json").json
    assert [each["text"] for each in change["new"]] == ["answer 0", "question 1"]
    assert change["gone"] == []


def test_recall_brings_back_what_was_said(cli: Cli, store: Path, fold: int) -> None:
    behind = cli("recall", "--fold", fold, "--json").json
    with cf.Session.open(store, thread="refactor-42") as session:
        assert len(behind) == len(session.recall(fold=fold))
        one = behind[0]
        assert one["message"] == cli("recall", "--seq", one["seq"], "--json").json[0]["message"]
    assert str(one["seq"]) in cli("recall", "--fold", fold).out


@pytest.mark.usefixtures("store")
def test_recall_finds_words_that_are_out_of_view(cli: Cli, fold: int) -> None:
    hidden = cli("recall", "--fold", fold, "--json").json
    found = cli("recall", "src/shop", "--json")
    assert found.code == 0
    assert {each["seq"] for each in found.json} <= {each["seq"] for each in hidden}
    assert "src/shop" in cli("recall", "src/shop").out
    nothing = cli("recall", "no such words anywhere")
    assert nothing.code == 3
    assert "--all" in nothing.out


@pytest.mark.parametrize("arguments", [(), ("word", "--seq", "1"), ("--seq", "1", "--fold", "2")])
@pytest.mark.usefixtures("store")
def test_recall_wants_one_thing(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("recall", *arguments).code == 2


@pytest.mark.usefixtures("store")
def test_a_fold_that_was_taken_back_can_still_be_recalled(cli: Cli, fold: int) -> None:
    behind = cli("recall", "--fold", fold, "--json").json
    cli("unfold", fold)
    assert cli("recall", "--fold", fold, "--json").json == behind


@pytest.mark.finding("N3")
def test_models_explains_one_and_takes_a_newer_catalogue(cli: Cli, tmp_path: Path) -> None:
    newer, prices = tmp_path / "newer.json", tmp_path / "prices.json"
    newer.write_text('{"models": [{"id": "acme-9", "window": 77000, "dialect": "openai-chat"}]}')
    prices.write_text('{"acme-8": {"mode": "chat", "max_input_tokens": 55000}}')
    assert "its name says claude" in cli("models", "claude-sonnet-9").out
    assert "77,000" in cli("models", "acme-9", "--catalogue", newer).out
    assert cli("models", "--json", "--catalogue", newer).json[0]["id"] == "acme-9"
    assert cli("models", "acme-8", "--json", "--catalogue", prices).json[0]["window"] == 55_000
    refused = cli("models", "--catalogue", "/dev/zero")
    assert refused.code != 0
    assert "not a regular file" in refused.err


@pytest.mark.finding("N12")
@pytest.mark.usefixtures("store")
def test_a_misspelled_model_is_noted_wherever_one_is_typed(cli: Cli, tmp_path: Path) -> None:
    for arguments in (
        ["show", "-m"],
        ["count", "session.jsonl", "-m"],
        ["doctor", "--no-keys", "--model"],
        ["stats", "-m"],
    ):
        ran = cli(*arguments, "claude-sonet-5-5")
        assert ran.code == 0
        assert "no list has a model claude-sonet-5-5; did you mean claude-sonnet-5-5?" in ran.err
        assert "did you mean" not in cli(*arguments, "claude-sonnet-9").err
    assert "claude-sonnet-5-5 のことですか" in cli("show", "-m", "claude-sonet-5-5", "--lang", "ja").err
    assert "did you mean 'claude-sonnet-5-5'?" in cli("models", "claude-sonet-5-5").out
    (tmp_path / "own.toml").write_text('[models."claude-sonet-5-5"]\nmax_input_tokens = 9_000\n', "utf-8")
    assert cli("show", "-m", "claude-sonet-5-5", "--config", "own.toml").err == ""
    refused = cli("fold", "--summarizer", "qwn-max")
    assert "did you mean" in refused.err
