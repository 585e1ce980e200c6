"""Words that make a message more likely to matter later, in English and Japanese (seed 003).

Only a small bonus hangs on them: what a message *is* weighs more than the words in it. Left out of the seed's list are
`plan` and `task`, which stand in almost every message of an agent.
"""

ENGLISH = (
    "approval",
    "approved",
    "completed",
    "decided",
    "denied",
    "done",
    "duck_call",
    "error",
    "exception",
    "failed",
    "failure",
    "important",
    "rejected",
    "success",
    "warning",
)

JAPANESE = (
    "エラー",
    "例外",
    "失敗",
    "完了",
    "成功",
    "承認",
    "拒否",
    "却下",
    "警告",
    "決定",
    "重要",
)

KEYWORDS = ENGLISH + JAPANESE
