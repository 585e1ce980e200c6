"""Which words of the user's side a person typed, and which a product put there.

A guess by how products mark their own additions: tags and fixed openings. It refuses to guess from style.
"""

from __future__ import annotations

import re

_PRODUCT = re.compile(
    r"""\A\s*+(?:
        <(?:command-|local-command|system-reminder|task-notification|bash-|user-prompt-submit|environment_context
          |environment_details|user_instructions|permissions|collaboration|skill|turn_aborted|instructions\b|apps_
          |subagent_notification|user_shell|personality)
      | \#\ AGENTS\.md\ instructions
      | \[Request\ interrupted
      | Caveat:\ The\ messages\ below
      | This\ session\ is\ being\ continued
      | Base\ directory\ for\ this\ skill
      | Stop\ hook\ feedback
      | EXECUTION\ RESULT\ of\ \[
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_typed(words: str) -> bool:
    """Whether a text of the user's side looks typed by a person."""
    return bool(words.strip()) and not _PRODUCT.match(words)


def has_typed(content: object) -> bool:
    """The same for the content of a message: some text in it, and not only results of tools."""
    if isinstance(content, str):
        return is_typed(content)
    if not isinstance(content, list):
        return False
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return any(isinstance(words, str) and is_typed(words) for words in texts)
