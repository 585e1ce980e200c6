"""What the model reads in place of an answer of recall, in the language of the thread's stand-ins."""

from __future__ import annotations

from contextfold.domain import Language

_WORDS: dict[str, tuple[str, str]] = {
    "same": (
        "[Asked already: the answer to the same {tool} (seq {seq}) is above.]",
        "[同じ {tool}(seq {seq})の答えは、すでに上にあります。]",
    ),
    "nothing": (
        "[Nothing that is folded away answers this. Try other words, or a fold or seq that a placeholder shows.]",
        "[畳まれた部分に該当するものはありません。別の語か、表示されている fold か seq で探してください。]",
    ),
    "spent": (
        "[Nothing more is recalled before the user speaks: {budget:,} tokens were. Go on with what was found.]",
        "[利用者の次の発言までに読み返せる {budget:,} トークンを使い切りました。見つかった内容で続けてください。]",
    ),
    "page": (
        "[Part {page} of {pages}. Ask again with page={next} to read on, or with a question to search here.]",
        "[{pages} 部のうち {page} 部目。続きは page={next}、この中を探すには question を付けてください。]",
    ),
    "last": ("[Part {page} of {pages}, the last.]", "[{pages} 部のうち最後の {page} 部目。]"),
    "cost": (
        "[Not unfolded yet: fold {fold} brings {tokens:,} tokens back into every later request, and {rewritten:,} "
        "tokens behind it are read anew. recall with fold={fold} reads it once. To go on, add confirm=true.]",
        "[まだ展開していません。fold {fold} を戻すと以後の要求ごとに {tokens:,} トークン増え、後ろの {rewritten:,} "
        "トークンが読み直されます。一度読むだけなら fold={fold} で recall を。"
        "展開するなら confirm=true を付けてください。]",
    ),
    "unfolded": (
        "[Fold {fold} is unfolded: {messages} messages stand in the conversation again.]",
        "[fold {fold} を展開しました。{messages} 件のメッセージが会話に戻りました。]",
    ),
}


def say(key: str, language: Language, **values: object) -> str:
    """Words for the model; values are numbers and names of ours."""
    english, japanese = _WORDS[key]
    return (japanese if language == "ja" else english).format(**values)
