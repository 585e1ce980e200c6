"""`contextfold replay`: several policies side by side, files of every kind, reports as people want them."""

from pathlib import Path

import pytest

from contextfold.replay import ReplayReport, decode_report
from tests.unit.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("store")
POLICIES = ("--window", "4k", "--policy", "balanced,sliding_window", "--max-tokens", "500", "-j", "1")


def without_time(report: object) -> object:
    if isinstance(report, dict):
        return {key: without_time(value) for key, value in report.items() if key != "cpu"}
    return [without_time(each) for each in report] if isinstance(report, list) else report


def test_policies_are_compared_side_by_side(cli: Cli) -> None:
    told = cli("replay", "session.jsonl", *POLICIES)
    assert told.code == 0
    assert "balanced" in told.out
    assert "sliding_window" in told.out
    assert "requests would be rejected" in told.out
    assert "times something was folded" in told.out


def test_the_answer_for_programs_is_the_documented_report(cli: Cli) -> None:
    told = cli("replay", "session.jsonl", *POLICIES, "--json")
    report = decode_report(told.out.encode())
    assert isinstance(report, ReplayReport)
    assert {total.policy for total in report.totals} >= {"balanced", "sliding_window", "full"}
    assert report.is_sound
    again = cli("replay", "session.jsonl", *POLICIES, "--json")
    assert without_time(again.json) == without_time(told.json)


def test_reports_are_written_as_asked(cli: Cli, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"report.{kind}" for kind in ("html", "csv", "markdown")}
    asked = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    told = cli("replay", "session.jsonl", *POLICIES, "--no-retention", *asked, "--lang", "ja")
    assert told.code == 0
    assert "<html" in files["html"].read_text()
    assert files["csv"].read_text().startswith("file,")
    assert "ポリシー" in files["markdown"].read_text()
    assert "ポリシー" in told.out


def test_a_directory_means_every_session_in_it(cli: Cli, tmp_path: Path) -> None:
    inner = tmp_path / "sessions" / "x"
    inner.mkdir(parents=True)
    for name in ("a.jsonl", "b.jsonl"):
        (inner / name).write_bytes((tmp_path / "session.jsonl").read_bytes())
    (inner / "notes.txt").write_text("no session")
    assert cli("replay", "sessions", *POLICIES, "--no-retention", "--json").json["files"] == 2
    (tmp_path / "empty").mkdir()
    assert cli("replay", "empty").code == 2


def test_what_cannot_be_replayed_is_told_and_the_rest_goes_on(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("this is no session\n")
    both = cli("replay", "session.jsonl", "broken.jsonl", *POLICIES, "--no-retention")
    assert both.code == 1
    assert "not replayed: broken.jsonl" in both.out
    assert cli("replay", "broken.jsonl", *POLICIES).code == 7
    assert cli("replay", "absent.jsonl").code == 3
    unknown = cli("replay", "session.jsonl", "--policy", "balance")
    assert unknown.code == 2
    assert "balanced" in unknown.err
