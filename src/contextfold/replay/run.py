"""Replay files: in this process or in several, with progress, kept as it goes, cancelled without loss.

The same files and settings give the same report, in the same order, however many processes did the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.domain.harmless import short_line as harmless
from contextfold.errors import BadConfiguration
from contextfold.folding import Policy

from .results import Kept, KeptFile, KeptRow, report_of
from .values import FULL, RECORDED, ReplayFailure, ReplayProgress, ReplayReport, Row, Settings
from .workers import Advance, FileTask, Found, named, replay_file, work_in_processes

OnProgress = Callable[[ReplayProgress], None]


class Run(Struct):
    """A replay under way: what is kept, and who is told."""

    files: Mapping[Path, str]  # and their digests
    names: Mapping[Path, str]  # … and what they are called in the report
    kept: Kept
    on_progress: OnProgress | None
    failures: dict[Path, list[ReplayFailure]] = field(default_factory=dict)
    finished: int = 0
    rows: int = 0

    def take(self, path: Path, found: Found) -> None:
        """Something was found in a file."""
        match found:
            case Row():
                self.kept.add(KeptRow(self.files[path], found))
                self.rows += 1
                self.tell(path, found.session, found.policy, found.turns, found.turns)
            case ReplayFailure():
                self.failures.setdefault(path, []).append(found)
            case Advance():
                self.tell(path, found.session, found.policy, found.turn, found.of_turns)

    def end(self, path: Path) -> None:
        """A file is done."""
        self.kept.add(KeptFile(self.files[path], tuple(self.failures.get(path, ()))))
        self.finished += 1
        self.tell(path)

    def tell(self, path: Path, session: str = "", policy: str = "", turn: int = 0, of_turns: int = 0) -> None:
        if self.on_progress is not None:
            done, of, name = self.finished, len(self.files), self.names[path]
            self.on_progress(ReplayProgress(done, of, self.rows, name, session, policy, turn, of_turns))


def replay(
    paths: Iterable[str | os.PathLike[str]],
    settings: Settings | None = None,
    *,
    policies: Mapping[str, Policy] | None = None,
    jobs: int = 1,
    keep: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
) -> ReplayReport:
    """Replay recorded sessions through policies.

    `policies` gives policies that are no recipes, by the names in `settings.policies`; they run in this process.
    `keep` is a file for results as they come; given again, it is gone on from. An interruption (Ctrl-C, or
    `KeyboardInterrupt` out of `on_progress`) gives the report of what is finished, with `complete` false.
    """
    chosen = settings or Settings()
    made = dict(policies) if policies is not None else named(chosen.policies)
    if tuple(made) != chosen.policies or {FULL, RECORDED} & set(made):
        raise BadConfiguration(f"settings.policies names {chosen.policies}, and policies has {tuple(made)}.")
    files = {Path(path): _digest(Path(path)) for path in paths}
    with Kept(keep, chosen) as kept:
        run = Run(files, called(list(files)), kept, on_progress)
        run.rows = sum(len(kept.rows.get(digest, ())) for digest in set(files.values()))
        todo = [path for path, digest in files.items() if digest not in kept.files]
        run.finished = len(files) - len(todo)
        try:
            if jobs > 1 and policies is None and len(todo) > 1:
                tasks = {path: FileTask(str(path), run.names[path], _done(run, path)) for path in todo}
                work_in_processes(tasks, chosen, jobs, run.take, run.end)
            else:
                for path in todo:
                    take = partial(run.take, path)
                    replay_file(path, run.names[path], made, chosen, _done(run, path), take)
                    run.end(path)
            is_complete = True
        except KeyboardInterrupt:
            is_complete = False
        return _report(run, chosen, is_complete)


def _done(run: Run, path: Path) -> frozenset[tuple[int, str]]:
    return frozenset(run.kept.rows.get(run.files[path], ()))


def _report(run: Run, settings: Settings, is_complete: bool) -> ReplayReport:
    """Everything kept of these files, under the names they have today."""
    names = {digest: run.names[path] for path, digest in run.files.items()}
    rows = [replace(row, file=name) for digest, name in names.items() for row in run.kept.rows.get(digest, {}).values()]
    failures = [
        replace(failure, file=name)
        for digest, name in names.items()
        if digest in run.kept.files
        for failure in run.kept.files[digest].failures
    ]
    return report_of(settings, rows, failures, files=list(run.names.values()), complete=is_complete)


def called(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each file: its own, with as many folders in front as tell it from the others."""
    names: dict[Path, str] = {}
    for path in paths:
        parts = path.absolute().parts
        alike = [other.absolute().parts for other in paths if other != path and other.name == path.name]
        length = next((n for n in range(1, len(parts)) if all(other[-n:] != parts[-n:] for other in alike)), len(parts))
        names[path] = harmless("/".join(parts[-length:]))
    return names


def _digest(path: Path) -> str:
    """The content of a file and its name: what a result belongs to."""
    digest = sha256(path.name.encode("utf-8", "surrogateescape") + b"\0")
    try:
        with path.open("rb") as file:
            while part := file.read(2**20):
                digest.update(part)
    except OSError:
        return f"unreadable {path}"
    return digest.hexdigest()
