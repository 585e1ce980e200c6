"""One key for the many ways to write a model's name.

`us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `anthropic/claude-sonnet-4.5` and `CLAUDE_SONNET_4_5` are one model.
Names are compared whole, after known wrappings are taken off: a part of a name proves nothing (`gpt-oss` is no `gpt`,
and a fine-tune is not its parent).
"""

from __future__ import annotations

import re

# Who may stand before a name; anybody else's prefix makes it another model.
_ROUTES = frozenset(
    {
        "anthropic",
        "azure",
        "bedrock",
        "deepseek",
        "gemini",
        "google",
        "google-vertex",
        "meta-llama",
        "minimax",
        "mistral",
        "mistralai",
        "models",
        "moonshotai",
        "openai",
        "openrouter",
        "qwen",
        "vertex",
        "vertex_ai",
        "x-ai",
        "xai",
        "z-ai",
        "zai",
    }
)
_REGION = re.compile(r"^(?:us|eu|apac|jp|au|global)\.")
_BEDROCK = re.compile(r"^(?:anthropic|deepseek|meta|mistral|openai|qwen)\.")
_VERSION = re.compile(r"-v\d+(?::\d+)?$")
_DATE = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest|default)$")
_OTHER = re.compile(r"[^a-z0-9]+")


def key(name: str) -> str:
    """The name as an environment variable would spell it, in lower case: every run of other signs is one underscore."""
    return _OTHER.sub("_", name.lower()).strip("_")


def candidates(name: str) -> tuple[str, ...]:
    """Keys under which this name may be listed, the most literal first."""
    bare = _bare(name.strip().lower())
    unversioned = _VERSION.sub("", bare)
    undated = _DATE.sub("", unversioned)
    return tuple(dict.fromkeys(key(each) for each in (name, bare, unversioned, undated)))


def _bare(name: str) -> str:
    *routes, last = name.split("/")
    if not all(route in _ROUTES for route in routes):
        return name
    return _BEDROCK.sub("", _REGION.sub("", last))
