"""What clients put on the user's side by themselves: the tags and the openings they write, as tables.

An opening stands here with the client's full wording, up to the end of a word or a line, so that a person who only
begins a sentence like a client is not taken for one. Tags are compared whole: `<context>` is a client's,
`<context.Provider>` is not.
"""

from __future__ import annotations

import re
from typing import Final

from contextfold.deferred import expression


def _names(names: str) -> tuple[str, ...]:
    return tuple(names.split())


# Reminders, states and hooks: they stand before or behind what a person typed, in the same text.
NOTES: Final = _names(
    "system-reminder system_reminder reminder reminderInstructions environment_details environment_context "
    "hook_context user-prompt-submit-hook session_context"
)

# What a client knows of the editor, the files and the repository. A person's words may follow, or stand before.
BLOCKS: Final = _names(
    "context attachments attachment documents document files file "
    "attached_files additional_data ide_selection ide_opened_file ide_diagnostics "
    "terminal_selection open_and_recently_viewed_files git_status user_info project_layout manually_attached_skills "
    "editorContext environment_info workspace_info explicit_instructions REPOSITORY_INFO REPOSITORY_INSTRUCTIONS "
    "RUNTIME_INFORMATION CONVERSATION_INSTRUCTIONS EXTRA_INFO workspace_diagnostics git_working_state git_commit "
    "terminal_output tool"
)

# Tags that begin a message which is the client's whole, whatever follows.
MESSAGES: Final = _names(
    "system-reminder environment_details environment_context hook_context local-command-stdout local-command-stderr "
    "local-command-caveat task-notification bash-stdout bash-stderr user-prompt-submit-hook user_instructions "
    "permissions collaboration_mode skill skills_instructions turn_aborted subagent_notification user_shell_command "
    "personality_spec apps_instructions hook_prompt state_snapshot session_context teammate-message "
    "cross-session-message file_content"
)

# Tags with which people mark up what they type; any other tag around all of a text is a client's.
PEOPLES: Final = frozenset(
    _names(
        "p div span b i u em strong h1 h2 h3 h4 h5 h6 ul ol li table tr td th blockquote a html body section article "
        "main header footer form button nav label img svg br hr instructions instruction task task_description "
        "description prompt rules rule requirements requirement role background goal goals objective question request "
        "guidelines constraints important user_message feedback answer user_query userrequest orders order "
        "policy policies steps notes important_rules"
    )
)

_TAGS: Final = "|".join(dict.fromkeys((*NOTES, *BLOCKS)))
_LINE: Final = "|".join(tag for tag in dict.fromkeys((*NOTES, *BLOCKS)) if tag != "tool")

# Up to the end of the tag. A quoted value may hold an opening bracket; a long one is a page's address.
_ATTRIBUTES: Final = r"""(?:\s(?:[^<>]{0,4000}+(?=>)|(?:[^<>"]++|"[^"\n]{0,4000}+")*))?"""

LEADING: Final = expression(rf"\A\s*+<(?P<tag>{_TAGS}){_ATTRIBUTES}>")
BEHIND: Final = expression(  # behind words: in a line of its own, or closed where the text ends
    rf"(?P<line>^[ \t]*+)?<(?P<tag>{_LINE}){_ATTRIBUTES}>", re.MULTILINE
)
ANY_TAG: Final = expression(rf"<(?P<closing>/)?(?P<tag>{_TAGS}){_ATTRIBUTES}>")
ATTACHED: Final = expression(  # what clients put behind the words that name a file, a page or a command: up to the end
    r"<(?:file_content|folder_content|url_content)\s++\w+=|^<command name=|^--- Content from referenced files ---$"
    r"|^This is the context you're working with:$"  # CrewAI: what other agents answered
    r"|^This was your previous work \(but I haven't seen any of it!",  # LangChain: the model's steps and their results
    re.MULTILINE,
)
FILE_FIRST: Final = expression(
    r"\A\s*+```[^\s`]*[\w-]\.\w{1,10}(?: \([^\n()]*\))?\n"
)  # Continue: a file before the words

WHOLE: Final = expression(  # Codex, opencode, Copilot and others write some of these tags with attributes
    rf"\A\s*+<(?P<tag>{'|'.join(dict.fromkeys((*MESSAGES, *NOTES, *BLOCKS)))}|folded-\w+|apps_\w+|permissions \w+)"
    rf"{_ATTRIBUTES}>(?P<same_line>[^\n]*+)"
)
COPILOT_INSTRUCTIONS: Final = expression(
    r"\A\s*+<instructions>\s*+(?:<attachment\b|<instruction>|Here is a list of instr)"
)
OPENINGS: Final = expression(
    r"""\A\s*+(?:
        \#\ AGENTS\.md\ instructions(?:\ for\ \S+\s*\Z|(?:\ for\ [^\n]*)?\n\s*+<INSTRUCTIONS>)
      | \[Request\ interrupted\ by\ user(?:\ for\ tool\ use)?\]
      | \[ERROR\]\ You\ did\ not\ use\ a\ tool\b
      | \[TASK\ RESUMPTION\]\s
      | \[NOTE\]\ Some\ previous\ conversation\ history\ with\ the\ user\ has\ been\ removed
      | \[Sliding\ window\ truncation:\s
      | Skipping\ tool\ \[[^\n]*\]\ due\ to\ user\ rejecting
      | Caveat:\ The\ messages\ below\ were\ generated\ by
      | This\ session\ is\ being\ continued(?:\ from\ a\ previous\ conversation|(?:\ from)?\.\n)
      | Another\ language\ model\ started\ to\ solve\ this\ problem\ and\ produced\ a\ summary
      | The\ conversation\ history\ before\ this\ point\ was\ compacted
      | The\ following\ is\ a\ summary\ of\ a\ branch\ that
      | \#\#\ Conversation\ [Ss]ummary[ \t]*\n
      | I\ spoke\ to\ you\ previously\ about\ a\ number\ of\ things\.\n
      | I\ have\ \*added\ these\ files\ to\ the\ chat\*\ so\ you\ can
      | These\ files\ have\ been\ \*added\ these\ files\ to\ the\ chat\*\ so\ we\ can
      | I've\ written\ your\ instructions\ in\ comments\ in\ the\ code\ and\ marked\ them
      | Don't\ try\ and\ edit\ any\ existing\ code\ without\ asking\ me\ to\ add\ the\ files\ to\ the\ chat!
      | Here\ are\ (?:some\ READ\ ONLY\ files,\ provided|summaries\ of\ some\ files\ present\ in\ my\ git\ repository)
      | \#\ (?:Fix\ any\ errors\ below,\ if\ possible|\d+\ SEARCH/REPLACE\ blocks?\ failed\ to\ match!)
      | The\ LLM\ did\ not\ conform\ to\ the\ edit\ format\.
      | This\ is\ the\ (?:Gemini\ CLI|Qwen\ Code)\.\ We\ are\ setting\ up
      | Here\ is\ (?:the\ user's\ editor\ context\ as\ a|a\ summary\ of\ changes\ in\ the\ user's\ editor)
      | Base\ directory\ for\ this\ skill:
      | (?:Stop|SubagentStop|TaskCompleted|TeammateIdle)\ hook\ feedback:[ \t]*\n
      | Stop\ hook\ is\ requesting\ continuation:
      | (?:UserPromptSubmit|SessionStart(?::\w+)?|PreToolUse(?::\w+)?|PostToolUse(?::\w+)?)
        \ hook\ (?:success|additional\ context|feedback|error):
      | Warning:\ apply_patch\ was\ requested\ via
      | The\ following\ tool\ was\ executed\ by\ the\ user\n
      | \[?[\d,]*+\ ?(?:[Ee]arlier\ )?messages\ \(seq\ [^\n]*?\ folded\ away\b
      | \[?(?:これより前の|重要度の低い)?[\d,件の]*+メッセージ（[^\n]{0,200}?折りたたまれ
    )""",
    re.VERBOSE,
)
IN_EDITOR: Final = expression(r"\A\s*+# (?:Context from my IDE setup|Files mentioned by the user):")  # Codex
REQUEST: Final = "## My request for Codex:"
RESUMED: Final = expression(  # Cline, Roo: what is said where a task is taken up again ends the client's text
    r"(?:New instructions for task continuation|New message to respond to with plan_mode_respond tool[^\n]{0,200}):\n"
    r"<user_message>\n"
)
MEANWHILE: Final = expression(  # typed while the agent works, shown to it in a note
    r"\A<system-reminder>\s*+The user sent (?:the following|a new) message[^\n]{0,80}\n(?P<words>.*+)", re.DOTALL
)
COMMAND: Final = expression(r"<(?P<tag>command-(?:name|message|args)|bash-input)>")
WRAPPED: Final = expression(rf"\A\s*+<(?P<tag>[a-z][\w-]{{0,60}}){_ATTRIBUTES}>", re.IGNORECASE)
AROUND: Final = expression(r"\A\s*+<(?P<tag>task|feedback|user_message|answer)>")
NEXT_SIGN: Final = expression(r"\S")
QUERIES: Final = ("user_query", "userRequest")  # Cursor, Copilot: beside them the client puts what it adds
