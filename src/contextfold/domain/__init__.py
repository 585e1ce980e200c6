"""The ground floor: what a conversation is, and what a model sees of it. Pure: no I/O, no clock, no chance."""

from .attachments import Attacher, Attachment, AttachmentIndex, Branch, Language, Turn, subject_of
from .blocks import Block, Document, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, nested
from .chain import GENESIS, SALT_BYTES, blobs_of, commitment, decode_event, digest, encode_event, link
from .counts import Count, Counter
from .cover import Cover, merged
from .covering import check_cover, cover_of
from .events import (
    BRANCH_EVENTS,
    Appended,
    Attached,
    BranchEvent,
    Checkpointed,
    Detail,
    Event,
    Folded,
    FoldKind,
    Intent,
    Measured,
    Noted,
    Pinned,
    Rewound,
    Sent,
    StandIn,
    ThreadEvent,
    ToolsProjected,
    Unfolded,
    Unpinned,
)
from .fold_tree import Fold, FoldTree
from .items import INTERRUPTED, LATE, Edit, FoldedBlock, Item, ItemKind
from .live_branch import LiveBranch, hidden_by
from .log import Draft, EventLog, Logged, Origin, ThreadRow
from .messages import Message, Role
from .path_items import PathItems, Words
from .projection import Projection
from .raw import decode, encodable, encode
from .reply import Bill, Problem, Reply
from .rules import check as check_view
from .runtime import Environment, Phase
from .shapes import BlockKind, BlockShape, Measure, Shape
from .shown import Lens, Shown
from .tags import Tags, roo_tags
from .view import View, ViewMessage, ViewMessages

__all__ = [
    "BRANCH_EVENTS",
    "GENESIS",
    "INTERRUPTED",
    "LATE",
    "SALT_BYTES",
    "Appended",
    "Attached",
    "Attacher",
    "Attachment",
    "AttachmentIndex",
    "Bill",
    "Block",
    "BlockKind",
    "BlockShape",
    "Branch",
    "BranchEvent",
    "Checkpointed",
    "Count",
    "Counter",
    "Cover",
    "Detail",
    "Document",
    "Draft",
    "Edit",
    "Environment",
    "Event",
    "EventLog",
    "Fold",
    "FoldKind",
    "FoldTree",
    "Folded",
    "FoldedBlock",
    "Image",
    "Intent",
    "Item",
    "ItemKind",
    "Language",
    "Lens",
    "LiveBranch",
    "Logged",
    "Measure",
    "Measured",
    "Message",
    "Noted",
    "Opaque",
    "Origin",
    "PathItems",
    "Phase",
    "Pinned",
    "Problem",
    "Projection",
    "Reasoning",
    "Reply",
    "Rewound",
    "Role",
    "Sent",
    "Shape",
    "Shown",
    "StandIn",
    "Tags",
    "Text",
    "ThreadEvent",
    "ThreadRow",
    "ToolCall",
    "ToolResult",
    "ToolsProjected",
    "Turn",
    "Unfolded",
    "Unpinned",
    "View",
    "ViewMessage",
    "ViewMessages",
    "Words",
    "blobs_of",
    "check_cover",
    "check_view",
    "commitment",
    "cover_of",
    "decode",
    "decode_event",
    "digest",
    "encodable",
    "encode",
    "encode_event",
    "hidden_by",
    "link",
    "merged",
    "nested",
    "roo_tags",
    "subject_of",
]
