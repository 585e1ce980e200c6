"""A digest on the page: sections in a fixed order, lines in the order of time, every foreign line behind a mark.

No line of the history ever begins a line of the digest, so none can pass for a heading or an instruction of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from .cuts import MARK, is_below, shortened
from .frames import neutral
from .passages import DigestLine, Topic
from .request import Language
from .texts import Wording, wording


class Page(Struct):
    """What goes into a digest, section by section."""

    language: Language
    requests: list[str] = field(default_factory=list)
    plan: list[str] = field(default_factory=list)
    lines: list[DigestLine] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)  # headings, also those without a kept line
    last: list[str] = field(default_factory=list)
    names: dict[Topic, list[str]] = field(default_factory=dict)  # what else a file or command speaks of
    root: str = ""  # the directory a mark stands for
    alike: dict[int, int] = field(default_factory=dict)  # by a line's place, how many others are like it

    def copy(self) -> Page:
        """The same page, from which things can be taken without changing this one."""
        plan, lines, topics, names = [*self.plan], [*self.lines], [*self.topics], dict(self.names)
        return replace(self, plan=plan, lines=lines, topics=topics, names=names)

    def text(self) -> str:
        """The digest."""
        words = wording(self.language)
        about_files = [line for line in self.lines if line.passage.topic and line.passage.topic.is_file]
        about_commands = [line for line in self.lines if line.passage.topic and not line.passage.topic.is_file]
        told = [line for line in self.lines if not line.passage.topic]
        earlier = [line for line in told if line.passage.speaker == "previous"]
        pasted = [line for line in told if line.passage.speaker == "user"]
        told = [line for line in told if line.passage.speaker not in ("previous", "user")]
        files, commands = self._grouped(about_files, is_file=True), self._grouped(about_commands, is_file=False)
        root = self._root_in(files, words)
        sections = (
            ("earlier", [f"- {line.text}" for line in _in_time(earlier)]),
            ("requests", _interleaved(self.requests, _told(pasted, f"> {MARK}"))),
            ("plan", self.plan),
            ("files", root + self._headed(files, words)),
            ("commands", ([] if root else self._root_in(commands, words)) + self._headed(commands, words)),
            ("decisions", _told(told, "-")),
            ("work", self.last),
        )
        return neutral("\n".join(_sections(sections, words)))

    def _grouped(self, lines: Sequence[DigestLine], *, is_file: bool) -> dict[Topic, list[DigestLine]]:
        """The lines of each heading, those without a kept line included."""
        by_topic: dict[Topic, list[DigestLine]] = {topic: [] for topic in self.topics if topic.is_file == is_file}
        for line in _in_time(lines):
            if line.passage.topic is not None:
                by_topic.setdefault(line.passage.topic, []).append(line)
        return by_topic

    def _headed(self, by_topic: Mapping[Topic, Sequence[DigestLine]], words: Wording) -> list[str]:
        """Headings in time, each with its lines."""
        out: list[str] = []
        for topic, own in sorted(by_topic.items(), key=lambda item: item[0].order):
            also = f"; {words.marks['also']} {', '.join(self.names[topic])}" if topic in self.names else ""
            out.append(heading(topic, words, self.root) + also)
            out.extend(f"- {line.text}{self._others(line, words)}" for line in own)
        return out

    def _others(self, line: DigestLine, words: Wording) -> str:
        many = self.alike.get(line.place, 0)
        return f" {words.marks['alike'].format(many=f'{many:,}')}" if many else ""

    def _root_in(self, topics: Iterable[Topic], words: Wording) -> list[str]:
        """What the mark stands for, if one of these headings has it; it is said in front of the first that does."""
        is_needed = any(is_below(topic.name, self.root) for topic in topics)
        return [f"{words.marks['root']} {self.root}"] if is_needed else []


def _sections(sections: Iterable[tuple[str, list[str]]], words: Wording) -> Iterable[str]:
    for name, lines in sections:
        if lines:
            yield f"## {words.headings[name]}"
            yield from lines


def heading(topic: Topic, words: Wording, root: str = "") -> str:
    """A file with what was done to it, or a command with how it ended; a mark for the root where one is given."""
    marks = words.marks
    if topic.is_file:
        done = ", ".join(
            f"{marks[action]} {many}×" if many > 1 else marks[action] for action, many in topic.actions.items()
        )
        return f"{shortened(topic.name, root)} ({done}{', ' + marks['failed'] if topic.failed else ''})"
    end = "" if not topic.failed and topic.answered else f" → {marks['failed' if topic.answered else 'pending']}"
    return f"#{topic.seq} {shortened(topic.name, root)}{end}"


def _told(lines: Sequence[DigestLine], mark: str) -> list[str]:
    out: list[str] = []
    before = None
    for line in _in_time(lines):
        out.append(f"{mark} {line.text}" if line.passage.seq == before else f"#{line.passage.seq} {mark} {line.text}")
        before = line.passage.seq
    return out


def _interleaved(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Two lists of what was said, each in time and with its seqs in front, as one."""
    said: list[tuple[int, int, str]] = []
    for whose, lines in enumerate((first, second)):
        seq = 0
        for line in lines:
            number = line[1 : line.find(" ")] if line.startswith("#") else ""
            seq = int(number) if number.isdigit() else seq
            said.append((seq, whose, line))
    said.sort(key=lambda one: one[:2])
    return [
        _unnumbered(line) if before == seq else line for before, (seq, _, line) in zip(_seqs(said), said, strict=True)
    ]


def _seqs(said: Sequence[tuple[int, int, str]]) -> list[int]:
    """For each line the seq of the one before it."""
    return [-1, *(seq for seq, _, _ in said)][: len(said)]


def _unnumbered(line: str) -> str:
    return line[line.find(" ") + 1 :] if line.startswith("#") else line


def _in_time(lines: Iterable[DigestLine]) -> list[DigestLine]:
    return sorted(lines, key=lambda line: line.place)
