"""tau-bench trajectories: a list of `{task_id, trial, reward, traj}`, `traj` in OpenAI chat form.

The user's side was played by a model; it stands for a person, and its turns are marked so.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.transcripts.pairs import settled
from contextfold.transcripts.rows import JsonRow, listed
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Recording
from contextfold.transcripts.source import Source

from . import messages
from .records import inner, recordings

NAME = "tau-bench"
_FACTS = ("task_id", "trial", "reward")


class TauBench:
    """The reader of `historical_trajectories/*.json`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        first = sample.first_item()
        return isinstance(first.get("traj"), list) and "task_id" in first

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        def make(row: JsonRow) -> Recording:
            said = inner(row.raw, "traj")
            return Recording(
                f"{source.name}#{row.line}",
                NAME,
                f"{row.value.get('task_id')}.{row.value.get('trial', 0)}",
                messages.system_text(listed(source, said)),
                lambda: settled(messages.heard(source, listed(source, said))),
                {name: row.value[name] for name in _FACTS if name in row.value},
            )

        return recordings(source, NAME, sample.items, "traj", make)
