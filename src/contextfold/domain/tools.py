"""What a tool is, by its name: the one table that digests, clearing, prices, layers and the workspace read.

Every agent spells its tools in its own way, so names are compared without case, separators and the server they come
from: `Read`, `read_file`, `readFile`, `fs.read_file` and `mcp__fs__read_file` are one tool. A name that is not listed
says nothing, and whoever asks looks at the call's arguments instead (`tool_calls`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

ToolKind: TypeAlias = Literal[
    "reads",  # shows a file
    "writes",  # makes a file, or its whole content anew
    "edits",  # changes part of a file
    "deletes",
    "patches",  # changes several files by one text
    "views",  # an editor: its command says whether it shows or changes
    "lists",
    "finds",  # files by name
    "searches",  # in files
    "runs",  # a command
    "asks",  # a person
    "plans",  # keeps a to-do list
    "teaches",  # loads instructions
]

# The names of Claude Code, Codex, Roo and Cline, Gemini CLI, opencode, Cursor, pi, OpenHands, SWE-agent, Copilot and
# the usual MCP servers. The first of each line is the name a policy may use for all of them.
_NAMES: Mapping[ToolKind, str] = {
    "reads": (
        "readfile read viewfile view openfile open catfile cat readtextfile readmanyfiles readmultiplefiles "
        "getfilecontents filereader notebookread viewimage"
    ),
    "writes": "writefile write writetofile createfile create createnewfile save savefile writetextfile newfile",
    "edits": (
        "editfile edit multiedit strreplace replace replaceinfile applydiff insertcontent searchandreplace "
        "searchreplace insert insertedit insertline editnotebook notebookedit replacestringinfile inserteditintofile"
    ),
    "deletes": "deletefile delete removefile remove unlink rm",
    "patches": "applypatch patch",
    "views": "strreplaceeditor strreplacebasededittool texteditor editor fileeditor",
    "lists": "listdir ls listfiles listdirectory readdirectory directorytree",
    "finds": "glob globfilesearch findfiles filesearch findbyname searchfilenames",
    "searches": "grep grepsearch searchfiles search ripgrep rg searchfilecontent codebasesearch searchdir searchfile",
    "runs": (
        "bash shell run runcommand runshellcommand executecommand execcommand executebash exec terminal "
        "runterminalcmd runinterminal localshell localshellcall shellcommand writestdin powershell cmdrunner"
    ),
    "asks": (
        "askuser askuserquestion askfollowupquestion askhuman askquestion requestuserinput askforinput humaninput "
        "getuserinput confirm askconfirmation exitplanmode"
    ),
    "plans": (
        "updateplan todowrite updatetodolist writetodos todo settodos updatetodos managetodolist todolist taskcreate "
        "taskupdate tasktracker"
    ),
    "teaches": "skill loadskill useskill fetchinstructions",
}
_ALONE = frozenset({"notebookedit", "exitplanmode"})  # names that a policy lists beside the first of their kind

TOOL_KINDS: Mapping[str, ToolKind] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_FIRST = {kind: names.split()[0] for kind, names in _NAMES.items()}
_SERVER = re.compile(r"__|[./:]")


@lru_cache(maxsize=4_096)
def plain_tool_name(name: str) -> str:
    """A tool's name as it is compared: without its server, case and separators."""
    own = _SERVER.split(name.strip("_./:"))[-1]
    return "".join(letter for letter in own.casefold() if letter.isalnum())


def kind_of_tool(name: str) -> ToolKind | None:
    """What the tool is; None where its name says nothing."""
    return TOOL_KINDS.get(plain_tool_name(name))


def tool_key(name: str) -> str:
    """One key for all names of the same tool: `Read`, `read_file` and `mcp__fs__view` are one."""
    plain = plain_tool_name(name)
    kind = TOOL_KINDS.get(plain)
    return plain if kind is None or plain in _ALONE else _FIRST[kind]
