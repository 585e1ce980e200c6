"""A digest on the page: sections in a fixed order, lines in the order of time, every foreign line behind a mark.

No line of the history ever begins a line of the digest, so none can pass for a heading or an instruction of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.deferred import expression

from .coverage import DigestLine
from .lines import MARK
from .passages import Topic
from .request import Language
from .roots import is_below, shortened
from .texts import neutral, wording
from .wordings import Wording


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
    headings: dict[Topic, str] = field(default_factory=dict)  # in words, written once for all copies of the page

    def copy(self) -> Page:
        """The same page, from which things can be taken without changing this one."""
        plan, lines, topics, names = [*self.plan], [*self.lines], [*self.topics], dict(self.names)
        return replace(self, plan=plan, lines=lines, topics=topics, names=names)

    def text(self) -> str:
        """The digest."""
        words = wording(self.language)
        files: dict[Topic, list[DigestLine]] = {topic: [] for topic in self.topics if topic.is_file}
        commands: dict[Topic, list[DigestLine]] = {topic: [] for topic in self.topics if not topic.is_file}
        earlier: list[str] = []
        pasted: list[DigestLine] = []
        told: list[DigestLine] = []
        for line in sorted(self.lines, key=lambda line: line.place):
            topic = line.passage.topic
            if topic is not None:
                (files if topic.is_file else commands).setdefault(topic, []).append(line)
            elif line.passage.kind == "previous":
                earlier.append(f"- {_attributed(line, words)}")
            else:
                (pasted if line.passage.speaker.is_person else told).append(line)
        root = self._root_in(files, words)
        sections = (
            ("earlier", earlier),
            ("requests", _interleaved(self.requests, _told(pasted, f"> {MARK}", words))),
            ("plan", self.plan),
            ("files", root + self._headed(files, words)),
            ("commands", ([] if root else self._root_in(commands, words)) + self._headed(commands, words)),
            ("decisions", _told(told, "-", words)),
            ("work", self.last),
        )
        page = [line for name, own in sections if own for line in (f"## {words.headings[name]}", *own)]
        return neutral("\n".join(page))

    def _headed(self, by_topic: Mapping[Topic, Sequence[DigestLine]], words: Wording) -> list[str]:
        """Headings in time, each with its lines."""
        out: list[str] = []
        for topic, own in sorted(by_topic.items(), key=lambda item: item[0].order):
            head = self.headings.get(topic)
            if head is None:
                head = self.headings[topic] = heading(topic, words, self.root)
            names = self.names.get(topic)
            out.append(f"{head}; {words.marks['also']} {', '.join(names)}" if names is not None else head)
            for line in own:
                many = self.alike.get(line.place, 0)
                others = f" {words.marks['alike'].format(many=f'{many:,}')}" if many else ""
                out.append(f"- {_attributed(line, words)}{others}")
        return out

    def _root_in(self, topics: Iterable[Topic], words: Wording) -> list[str]:
        """What the mark stands for, if one of these headings has it; it is said in front of the first that does."""
        is_needed = any(is_below(topic.name, self.root) for topic in topics)
        return [f"{words.marks['root']} {_one_line(self.root)}"] if is_needed else []


def heading(topic: Topic, words: Wording, root: str = "") -> str:
    """A file with what was done to it, or a command with how it ended; a mark for the root where one is given."""
    marks, name = words.marks, _one_line(shortened(topic.name, root))
    if topic.is_file:
        done = ", ".join(
            f"{marks[action]} {many}×" if many > 1 else marks[action] for action, many in topic.actions.items()
        )
        return f"{name} ({done}{', ' + marks['failed'] if topic.failed else ''})"
    end = "" if not topic.failed and topic.answered else f" → {marks['failed' if topic.answered else 'pending']}"
    return f"#{topic.seq} {name}{end}"


def _one_line(name: str) -> str:
    """A name as it stands in a heading: files may be called anything, also two lines of a digest."""
    return name if name.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in name).split())


def _told(lines: Sequence[DigestLine], mark: str, words: Wording) -> list[str]:
    out: list[str] = []
    before = None
    for line in lines:
        seq, text = line.passage.seq, _attributed(line, words)
        out.append(f"{mark} {text}" if seq == before else f"#{seq} {mark} {text}")
        before = seq
    return out


def _attributed(line: DigestLine, words: Wording) -> str:
    """A line, behind the name of the tool that reported it where no heading says so, or where it quotes a person."""
    if not line.passage.is_reported:
        return line.text
    tool = _NO_NAME.sub("-", line.passage.speaker.tool)[:_TOOL_NAME] or words.marks["tool"]
    return f"{words.marks['reported'].format(tool=tool)} {line.text}"


_NO_NAME = expression(r"[^\w./-]+")  # letters that no label has
_TOOL_NAME = 60  # characters of a tool's name in a label


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
    out: list[str] = []
    before = -1
    for seq, _, line in said:
        is_numbered = before == seq and line.startswith("#")
        out.append(line[line.find(" ") + 1 :] if is_numbered else line)
        before = seq
    return out
