"""Which formats there are, and how others add theirs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold import transcripts
from contextfold.errors import BadConfiguration
from contextfold.transcripts import registry
from tests.unit.transcripts.every import FILES
from tests.unit.transcripts.samples import put

READER = """
from contextfold.transcripts import Defect, Recorded, Recording, Skipped


class Diary:
    name = "diary"

    def claims(self, sample):
        return any("dear_diary" in row for row in sample.rows)

    def read(self, source, sample):
        def follow():
            for line in source.lines():
                yield Recorded(b'{"role":"user","content":"dear"}', (line.number,), human=True)

        yield Recording(source.name, "diary", "", "", follow)
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """A distribution on the path, as a package manager would leave it."""
    (folder / "diaries.py").write_text(READER)
    info = folder / "diaries-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: diaries\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{transcripts.GROUP}]\ndiary = {target}\n")
    monkeypatch.syspath_prepend(str(folder))


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Readers from outside are remembered; each test has its own."""
    registry._from_outside.cache_clear()
    yield
    registry._from_outside.cache_clear()
    sys.modules.pop("diaries", None)


def test_every_format_has_a_name_and_a_sample() -> None:
    assert {name.split()[0] for name in FILES} == set(transcripts.formats())


def test_a_reader_from_outside_reads_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "diaries:Diary")
    path = put(tmp_path, b'{"dear_diary": 1}\n{"dear_diary": 2}\n')

    (recording,) = transcripts.read(path)

    assert transcripts.detect(path) == recording.format == "diary"
    assert transcripts.formats()[-1] == "diary"
    assert len(list(recording.turns)) == 2


def test_a_reader_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "diaries:Nothing")

    with pytest.raises(BadConfiguration, match="'diary'"):
        transcripts.detect(put(tmp_path, b'{"dear_diary": 1}\n'))


def test_files_of_our_formats_do_not_ask_readers_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "diaries:Nothing")

    assert transcripts.detect(put(tmp_path, FILES["codex"])) == "codex"
