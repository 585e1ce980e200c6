"""Many files: the same numbers every time, kept as they come, cut short without loss."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contextfold.errors import BadConfiguration
from contextfold.folding.recipes import RECIPES
from contextfold.replay import (
    ReplayProgress,
    ReplayReport,
    Settings,
    decode_report,
    encode_report,
    replay,
    without_times,
)
from contextfold.replay.results import Kept
from contextfold.replay.run import called
from contextfold.replay.workers import FileTask, work_in_processes
from tests.unit.replay.recordings import POLICIES, SETTINGS, claude_code, plain

CUT = """
import sys, threading
from contextfold.replay import Settings, encode_report, replay
def told(progress):
    if progress.policy == "sliding_window" and progress.turn == 3:
        print("now", flush=True)
        threading.Event().wait(60)  # for the interrupt, however late it comes
if __name__ == "__main__":
    settings = Settings(policies=("balanced", "sliding_window"), window=9_000, model="claude-sonnet-4-5")
    report = replay(sys.argv[2:], settings, jobs=1, keep=sys.argv[1], on_progress=told)
    sys.stdout.buffer.write(encode_report(report))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("files")
    return [plain(folder, "a.jsonl", seed=3, tokens=7_000), claude_code(folder), plain(folder, "b.jsonl", seed=4)]


@pytest.fixture(scope="module")
def whole(files: list[Path]) -> ReplayReport:
    """What one process finds in one go."""
    return replay(files, SETTINGS)


def same(one: ReplayReport, other: ReplayReport) -> bool:
    return encode_report(without_times(one)) == encode_report(without_times(other))


def test_a_session_replayed_twice_gives_identical_numbers(files: list[Path], whole: ReplayReport) -> None:
    assert same(replay(files, SETTINGS), whole)


def test_several_processes_find_what_one_finds(files: list[Path], whole: ReplayReport) -> None:
    assert same(replay(files, SETTINGS, jobs=2), whole)


def test_totals_add_up(whole: ReplayReport) -> None:
    report = whole
    assert report.complete
    assert report.is_sound
    assert [total.policy for total in report.totals] == [*POLICIES, "full", "recorded"]
    for total in report.totals:
        rows = [row for row in report.rows if row.policy == total.policy]
        assert total.sessions == len(rows)
        assert total.tokens == sum(row.tokens for row in rows)
        assert total.cost is not None
        assert total.cost.total == pytest.approx(sum(row.cost.total for row in rows if row.cost))
    by_name = {total.policy: total for total in report.totals}
    assert by_name["full"].against_full == 1.0
    assert 0 < (by_name["balanced"].against_full or 0) < 1.0
    assert {total.sessions for total in report.totals} == {report.compared} == {report.sessions} == {3}


def test_progress_ends_at_the_end(files: list[Path]) -> None:
    told: list[ReplayProgress] = []
    replay(files[:1], SETTINGS, on_progress=told.append)
    assert (told[-1].files, told[-1].of_files, told[-1].rows) == (1, 1, 4)
    assert [each.rows for each in told] == sorted(each.rows for each in told)
    assert {each.policy for each in told} >= set(POLICIES)


def test_a_cancelled_replay_gives_what_is_finished_and_goes_on_later(
    files: list[Path], tmp_path: Path, whole: ReplayReport
) -> None:
    def cut(progress: ReplayProgress) -> None:
        if progress.rows == 5:
            raise KeyboardInterrupt

    keep = tmp_path / "kept.jsonl"
    partial = replay(files, SETTINGS, keep=keep, on_progress=cut)
    assert not partial.complete
    assert len(partial.rows) == 5
    seen: list[str] = []
    later = replay(files, SETTINGS, keep=keep, on_progress=lambda progress: seen.append(progress.file))
    assert "a.jsonl" not in seen  # it was done
    assert later.complete
    assert same(later, whole)


def test_ctrl_c_leaves_a_usable_partial_result(files: list[Path], tmp_path: Path) -> None:
    """A real interrupt of a real process, in the middle of the second policy."""
    keep = tmp_path / "kept.jsonl"
    command = [sys.executable, "-c", CUT, str(keep), *map(str, files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
    assert process.returncode == 0
    partial = decode_report(said.rpartition(b"now\n")[2])
    assert not partial.complete
    assert [row.policy for row in partial.rows] == ["balanced"]
    with Kept(keep, SETTINGS) as kept:
        assert [row for rows in kept.rows.values() for row in rows.values()] == list(partial.rows)


def test_a_torn_last_line_is_dropped_and_made_again(files: list[Path], tmp_path: Path) -> None:
    keep = tmp_path / "kept.jsonl"
    first = replay(files[:1], SETTINGS, keep=keep)
    lines = keep.read_bytes().splitlines(keepends=True)
    keep.write_bytes(b"".join(lines[:2]) + lines[2][: len(lines[2]) // 2])
    assert same(replay(files[:1], SETTINGS, keep=keep), first)
    assert len(keep.read_bytes().splitlines()) == len(lines)


def test_results_of_other_settings_are_refused_and_left_alone(files: list[Path], tmp_path: Path) -> None:
    keep = tmp_path / "kept.jsonl"
    replay(files[:1], SETTINGS, keep=keep)
    before = keep.read_bytes()
    with pytest.raises(BadConfiguration, match="with these settings"):
        replay(files[:1], Settings(policies=POLICIES, window=8_000), keep=keep)
    foreign = tmp_path / "notes.txt"
    foreign.write_text("my notes\n")
    with pytest.raises(BadConfiguration, match="Choose another file"):
        replay(files[:1], SETTINGS, keep=foreign)
    assert keep.read_bytes() == before
    assert foreign.read_text() == "my notes\n"


def test_a_file_that_is_no_session_is_a_failure_with_its_reason(files: list[Path], tmp_path: Path) -> None:
    odd = tmp_path / "odd.bin"
    odd.write_bytes(b"\x00\x01")
    report = replay([odd, tmp_path / "absent.jsonl", files[0]], SETTINGS, jobs=2)
    assert [failure.file for failure in report.failures] == ["absent.jsonl", "odd.bin"]
    assert len(report.rows) == 4
    assert report.files == 3


def test_a_process_that_dies_takes_only_its_file_with_it(files: list[Path]) -> None:
    ended: list[Path] = []
    found: list[object] = []

    def take(_path: Path, each: object) -> None:
        if not found:
            os.kill(_child(), signal.SIGKILL)
        found.append(each)

    tasks = {path: FileTask(str(path), path.name) for path in (files[0], files[2])}
    work_in_processes(tasks, SETTINGS, 1, take, ended.append)
    assert sorted(ended) == sorted(tasks)
    assert [str(each) for each in found if "ended before" in str(each)]


def _child() -> int:
    listed = Path(f"/proc/{os.getpid()}/task")
    children = [pid for task in listed.iterdir() for pid in (task / "children").read_text().split()]
    return next(int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes())


def test_any_policy_can_be_replayed_by_a_name_of_ones_own(files: list[Path]) -> None:
    settings = Settings(policies=("mine",), window=12_000, reference=False)
    mine = RECIPES["sliding_window"]().with_(limit=5_000)
    (row,) = replay(files[:1], settings, policies={"mine": mine}, jobs=4).rows
    assert row.policy == "mine"
    assert row.peak <= 5_000


@pytest.mark.parametrize("names", [("balanced", "balanced"), ("unheard_of",)])
def test_policies_that_make_no_sense_are_refused_before_anything_is_read(names: tuple[str, ...]) -> None:
    with pytest.raises(BadConfiguration):
        replay([], Settings(policies=names))


def test_reserved_names_are_refused() -> None:
    with pytest.raises(BadConfiguration):
        replay([], Settings(policies=("full",)), policies={"full": RECIPES["balanced"]()})


def test_the_same_file_twice_is_one_session(files: list[Path]) -> None:
    once, twice = replay(files[:1], SETTINGS), replay([files[0], files[0]], SETTINGS)
    assert len(once.rows) == len(twice.rows)
    assert json.loads(encode_report(once))["totals"][0]["tokens"] == twice.totals[0].tokens


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """Some products call every session the same."""
    paths = []
    for seed, folder in enumerate(("one", "two")):
        (tmp_path / folder).mkdir()
        paths.append(plain(tmp_path / folder, "history.json", seed=seed, tokens=3_000))
    report = replay(paths, Settings(policies=("balanced",), window=12_000, retention=False))
    assert [row.file for row in report.rows] == ["one/history.json"] * 3 + ["two/history.json"] * 3
    assert report.totals[1].against_full == 1.0
    assert called([*paths, tmp_path / "other.json"])[tmp_path / "other.json"] == "other.json"


def test_what_the_report_says_is_not_said_on_the_terminal_as_well(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as where nobody configured logging
    settings = Settings(policies=("balanced",), window=600, reference=False)
    assert replay(files[:1], settings).totals[0].refused > 0
    assert capsys.readouterr() == ("", "")
