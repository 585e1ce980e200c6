"""The tools by which a model asks for what is folded away: `recall` and `unfold`, declared like any other tool.

Small and always the same bytes, because they stand in front of every request. Both only look or bring back: they need
no permission and belong to every phase.
"""

from __future__ import annotations

from contextfold.toolbox import Tool

RECALL = Tool(
    "recall",
    "Read earlier parts of this conversation that are folded away. Give a question in plain words, or the handle that "
    "a placeholder shows: fold or seq. With question and a handle, only there.",
    {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "What to look for"},
            "fold": {"type": "integer", "description": "Everything behind this fold"},
            "seq": {"type": "integer", "description": "This message"},
            "around": {"type": "integer", "description": "Also so many messages before and after seq"},
            "path": {"type": "string", "description": "What was done with this file"},
            "page": {"type": "integer", "description": "The next part of a long answer, from 1"},
        },
    },
    side_effects=False,
)
UNFOLD = Tool(
    "unfold",
    "Put what a fold hides back into this conversation for good. Tells the cost first where it is high; then call "
    "again with confirm.",
    {
        "type": "object",
        "properties": {"fold": {"type": "integer"}, "confirm": {"type": "boolean"}},
        "required": ["fold"],
    },
    side_effects=False,
)
TOOLS = (RECALL, UNFOLD)
