"""Short texts of many kinds, written for this purpose: no weight was fitted on them. Not a benchmark."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Final

_JAPANESE = (
    "会話が長くなると、モデルに送る文章が窓の大きさを超えてしまいます。そこで、古いやり取りを折りたたみ、短い要約"
    "に置き換えます。折りたたんだ部分は消えたわけではなく、いつでも元の形に戻せます。利用者が最初に伝えた指示や、"
    "まだ終わっていない作業は、要約せずにそのまま残します。昨日の打ち合わせでは、検索の結果が多すぎるという意見が"
    "出ました。画面に出すのは上位十件までとし、残りは次のページで見られるように変更してください。テストが失敗した"
    "場合は、原因を調べてから報告してください。設定ファイルの場所は、環境変数で変えられます。既定値は三万二千七百"
    "六十八です。"
)

_CHINESE = (
    "对话变长以后，发送给模型的内容会超过窗口的大小。因此我们把较早的内容折叠起来，用一段简短的摘要代替。折叠的部"
    "分并没有被删除，随时都可以恢复原样。用户最初给出的要求，以及尚未完成的工作，都会原封不动地保留下来。昨天开会"
    "时，有人认为搜索结果太多，建议页面上只显示前十条，其余的放到下一页。如果测试失败，请先查明原因再报告。配置文"
    "件的位置可以通过环境变量修改，默认值是三万二千七百六十八。数据库每天晚上备份一次，备份文件保存三十天，超过期"
    "限的文件由管理员确认以后再清理。"
)

_KOREAN = (
    "대화가 길어지면 모델에 보내는 내용이 창의 크기를 넘게 됩니다. 그래서 오래된 내용을 접어 두고 짧은 요약으로 "
    "바꿉니다. 접힌 부분은 지워진 것이 아니며 언제든지 원래대로 되돌릴 수 있습니다. 사용자가 처음에 알려 준 "
    "지시와 아직 끝나지 않은 작업은 그대로 남겨 둡니다. 어제 회의에서는 검색 결과가 너무 많다는 의견이 "
    "나왔습니다. 화면에는 열 개까지만 보여 주고 나머지는 다음 쪽에서 볼 수 있게 바꾸어 주세요. 시험이 실패하면 "
    "원인을 먼저 살펴보고 알려 주세요."
)

_ENGLISH = (
    "A conversation that goes on for a whole afternoon says many things twice. The early plans were changed, the "
    "files were read again, and half of the tool output was looked at once and never needed after that. What "
    "must not get lost is small by comparison: what the person asked for, what was decided and why, which files "
    "were touched, and what is still open. Everything else can be folded away, as long as it can be found again "
    "when somebody asks for it. The meeting on Tuesday moved the release by two weeks, mostly because the import "
    "of older records still fails for customers with more than one address."
)

_CODE = '''def shortest_prefix(atoms: list[Atom], saving: int) -> tuple[int, int]:
    """How many of the oldest atoms must go to save this much, and what they really save."""
    saved = 0
    for index, atom in enumerate(atoms):
        if saved >= saving:
            return index, saved
        if atom.is_pinned or atom.tokens <= 0:
            continue
        saved += atom.tokens
        logger.debug("atom %d saves %d of %d", index, atom.tokens, saving)
    raise CannotFit({"kept": sum(a.tokens for a in atoms)}, limit=saving)


class ThreadReader:
    def __init__(self, path: Path, *, batch_size: int = 256, retryOnBusy: bool = True) -> None:
        self._connection = connect(path, isolation_level=None)
        self._batch_size, self._retry = batch_size, retryOnBusy

    async def read(self, after: int = 0) -> AsyncIterator[Event]:
        while rows := await self._fetch(after, limit=self._batch_size):
            for row in rows:
                yield decode_event(row["kind"], row["body"])
            after = rows[-1]["seq"]
'''

_RECORDS = [
    {
        "id": 48210 + number * 37,
        "title": title,
        "path": f"src/{folder}/{title}.py",
        "lines": [number * 11, number * 11 + 42],
        "open": number % 2 == 0,
        "score": round(0.37 + number / 13, 3),
        "owner": {"name": owner, "team": "storage", "since": f"2026-0{number + 1}-17"},
        "labels": ["bug", "needs-review"] if number % 3 else [],
    }
    for number, (title, folder, owner) in enumerate(
        [
            ("parse", "dialects", "Mika"),
            ("rewind", "domain", "Tobias"),
            ("append", "stores", "Ama"),
            ("count", "tokens", "Ravi"),
        ]
    )
]

_BYTES = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(24))

SAMPLES: Final = {
    "English prose": _ENGLISH,
    "Japanese": _JAPANESE,
    "Chinese": _CHINESE,
    "Korean": _KOREAN,
    "code": _CODE,
    "JSON": json.dumps(_RECORDS),
    "JSON, indented": json.dumps(_RECORDS, indent=2),
    "base64": base64.b64encode(_BYTES).decode(),
    "hexadecimal": _BYTES.hex(),
    "emoji": "🎉🚀 done! 👍👍 ✅ ship it 🔥 … ❤️ thanks 🙏 😀😂 see you 👋 " * 8,
}
