"""One key for the many ways to write a model's name.

`us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `anthropic/claude-sonnet-4.5` and `CLAUDE_SONNET_4_5` are one model.
Names are compared whole, after known wrappings are taken off: a part of a name proves nothing (`gpt-oss` is no `gpt`,
and a fine-tune is not its parent). Only a model's family is read from the beginning of its name, see `core`.
"""

from __future__ import annotations

import re

# Who may stand before a name; anybody else's prefix makes it another model.
_ROUTE = re.compile(
    r"alibaba|anthropic|azure|azure_ai|bedrock|bedrock_converse|cerebras|converse|databricks|deepinfra"
    r"|deepseek|fireworks|fireworks_ai|gemini|github|github_copilot|google|google-gla|google-vertex"
    r"|google_genai|google_vertexai|groq|hosted_vllm|litellm_proxy|lmstudio|lm_studio|meta-llama|minimax"
    r"|minimaxai|mistral|mistralai|models|moonshot|moonshotai|nvidia_nim|ollama|ollama_chat|openai"
    r"|openai-chat|openai-responses|openrouter|qwen|sambanova|together|together_ai|vertex|vertex_ai|vllm"
    r"|x-ai|xai|z-ai|zai|zai-org"
)
_REGION = re.compile(r"^(?:us|us-gov|eu|apac|jp|au|ca|global)\.")
_BEDROCK = re.compile(r"^(?:amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|openai|qwen|zai)\.")
_VERSION = re.compile(r"-v\d+(?::\d+)?$")
_DATE = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d|\d{4}|00\d|latest|default)$")
_PREVIEW = re.compile(r"-preview(?:-\d\d-(?:20)?\d\d)?$")
_TAG = re.compile(r":[^:/]+$")  # Ollama's tags, OpenRouter's variants
_OTHER = re.compile(r"[^a-z0-9]+")


def key(name: str) -> str:
    """The name as an environment variable would spell it, in lower case: every run of other signs is one underscore."""
    return _OTHER.sub("_", name.lower()).strip("_")


def candidates(name: str) -> tuple[str, ...]:
    """Keys under which this name may be listed, the most literal first."""
    bare = _bare(name.strip().lower())
    unversioned = _VERSION.sub("", bare)
    shorter = [bare, unversioned]
    for wrapping in (_DATE, _TAG, _DATE, _PREVIEW, _DATE):
        shorter.append(wrapping.sub("", shorter[-1]))
    return tuple(dict.fromkeys(key(each) for each in (name, *shorter)))


def core(name: str) -> str:
    """The name in lower case without anybody before it, known or not: its beginning tells the model's family."""
    last = name.strip().lower().rpartition("/")[2]
    while last.startswith("ft:") or (":" in last and _ROUTE.fullmatch(last.partition(":")[0])):
        last = last.partition(":")[2]
    return _BEDROCK.sub("", _REGION.sub("", last)).replace("_", "-")


def _bare(name: str) -> str:
    *routes, last = name.split("/")
    is_resource = "models" in routes or name.startswith("arn:")  # Vertex, Bedrock: whose it is says the path
    if not is_resource and not all(_ROUTE.fullmatch(route.partition(":")[0]) for route in routes):
        return name
    route, colon, rest = last.partition(":")
    last = rest if colon and _ROUTE.fullmatch(route) else last
    return _BEDROCK.sub("", _REGION.sub("", last))
