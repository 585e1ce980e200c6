"""What people and agents say in generated sessions, in English and in Japanese.

Each phrase has fields in braces; whoever uses a phrase fills them from the imaginary project. The wishes are such that
a summary can be judged by them: a rule to keep, a number, a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Language: TypeAlias = Literal["en", "ja"]


class Phrases(Struct, frozen=True):
    """One language."""

    wishes: tuple[str, ...]
    rules: tuple[str, ...]
    follow_ups: tuple[str, ...]
    plans: tuple[str, ...]
    looks: tuple[str, ...]
    changes: tuple[str, ...]
    failures: tuple[str, ...]
    reports: tuple[str, ...]
    comments: tuple[str, ...]
    nouns: Mapping[str, str]


NOUNS = ("invoice", "shipment", "booking", "coupon", "refund", "warehouse", "subscription", "ticket")

ENGLISH = Phrases(
    wishes=(
        "Customers report that {noun} {aspect} is wrong when the {field} is exactly {number}. Ticket {ticket}. "
        "Find out why "
        "and fix it, with a test that fails before the fix.",
        "Please add {aspect} to the {noun} service. It should accept at most {number} entries and return error "
        "code {code} "
        "above that. Keep the public signatures.",
        "The nightly job for {noun}s takes {number} seconds since last week, see {ticket}. I suspect {path}. "
        "Make it fast "
        "again without changing what it returns.",
        "Rename the {field} of a {noun} to `{aspect}_{field}` everywhere except in the HTTP API, which has to "
        "stay as it is.",
    ),
    rules=(
        "One rule for all of this: never touch anything under migrations/, another team owns it.",
        "Use Decimal for money, never float. That holds for the whole session.",
        "Do not add dependencies, and keep port {number} for the local server.",
        "Write commit messages in the imperative and mention {ticket} in each.",
        "Ask me before you delete a file.",
    ),
    follow_ups=(
        "Good. One more thing: {path} still has the old wording in its docstrings, bring it in line.",
        "Wait, version {number} of the API is still used by the mobile app. Is {noun} {aspect} compatible with it?",
        "That reads well. Why did you choose {code} and not a plain ValueError?",
        "Hm, the review says the limit should be {number}, not what I told you before. Change it and run the "
        "tests again.",
    ),
    plans=(
        "The report names {noun} {aspect}. I should find where {field} is compared before I change anything, and "
        "see which "
        "tests already cover {path}.",
        "Two places could be at fault: the service and the repository. Reading both is cheaper than guessing.",
        "The user wants the signatures kept, so the change has to stay inside `{function}`.",
    ),
    looks=(
        "I'll look at where this is handled.",
        "Let me read {path} and its tests.",
        "First the callers of `{function}`.",
        "Checking the current state before I change it.",
    ),
    changes=(
        "The comparison in `{function}` excludes the boundary. I'm changing it.",
        "Now I'll update `{function}` in {path}.",
        "Adding the missing case to `{function}`.",
    ),
    failures=(
        "The failure shows that `{function}` gets a {field} of None from the repository; the fix has to go one "
        "level deeper.",
        "One test fails: it pinned the old behaviour. The assertion compares {field} with {number}; by {ticket} "
        "that is the "
        "bug itself.",
        "`{function}` raises {code} too early, before the region is known. I'll move the check.",
    ),
    reports=(
        "Done. `{function}` in {path} now includes the boundary ({number}), and {code} is raised above it. The "
        "tests pass; I "
        "did not touch the HTTP API. Left open: the nightly job reads the same field and has no test.",
        "Fixed {ticket}. The cause was the comparison in `{function}`: it used the {field} before rounding. I "
        "added a test "
        "for {number}. Nothing else changed its signature.",
        "{noun} {aspect} works as asked. I decided to keep `{function}` synchronous, because its two callers in "
        "{path} are.",
    ),
    comments=(
        "the {field} is rounded before it is compared",
        "see {ticket}: callers rely on the order",
        "at most {number} entries, checked by the caller",
        "returns a new value, the {noun} itself never changes",
    ),
    nouns={noun: noun for noun in NOUNS},
)

JAPANESE = Phrases(
    wishes=(
        "{noun}の{aspect}について、{field}がちょうど{number}のときに結果がおかしいという報告が来ています（{ticket}）。原因を調べて、"
        "修正前に失敗するテストを付けて直してください。",
        "{noun}のサービスに{aspect}を追加してください。最大{number}件まで受け付け、それを超えたらエラーコード{code}を返すこと。"
        "公開している関数のシグネチャは変えないでください。",
        "{noun}の夜間処理が先週から{number}秒かかるようになりました（{ticket}）。{path}があやしいと思っています。"
        "返す値を変えずに元の速さへ戻してください。",
        "{noun}の{field}を`{aspect}_{field}`に改名してください。ただしHTTP APIの項目名はそのままにすること。",
    ),
    rules=(
        "全体のお約束です。migrations/以下は別チームの持ち物なので、絶対に触らないでください。",
        "金額はDecimalを使い、floatは使わないこと。この作業のあいだずっと守ってください。",
        "依存ライブラリは増やさないでください。ローカルサーバのポートは{number}のままでお願いします。",
        "コミットメッセージは日本語で、必ず{ticket}を書いてください。",
        "ファイルを消す前には必ず確認してください。",
    ),
    follow_ups=(
        "ありがとうございます。もう一点、{path}のコメントが古いままなので合わせてください。",
        "待ってください。スマホアプリはまだAPIのバージョン{number}を使っています。{noun}の{aspect}は互換性がありますか。",
        "なるほど。ValueErrorではなく{code}にした理由を教えてください。",
        "レビューで上限は{number}にすべきだと言われました。先ほどの指示は忘れて、直してからもう一度テストを流してください。",
    ),
    plans=(
        "報告は{noun}の{aspect}を指している。変更する前に、{field}を比較している場所と、{path}を見ているテストを確認する。",
        "サービスとリポジトリのどちらかが原因だろう。推測するより両方読むほうが早い。",
        "シグネチャは変えられないので、変更は`{function}`の中に収める必要がある。",
    ),
    looks=(
        "まず、どこで処理しているかを確認します。",
        "{path}とそのテストを読みます。",
        "`{function}`の呼び出し元を調べます。",
        "変更の前に現状を確認します。",
    ),
    changes=(
        "`{function}`の比較が境界値を含んでいませんでした。修正します。",
        "{path}の`{function}`を書き換えます。",
        "足りない分岐を`{function}`に追加します。",
    ),
    failures=(
        "失敗の内容を見ると、リポジトリから{field}がNoneで返っている。もう一段深いところを直す必要がある。",
        "失敗したテストは古い動作を固定していた。{field}を{number}と比べており、{ticket}によればこれが不具合そのもの。",
        "`{function}`が地域を確定する前に{code}を送出している。検査の位置を後ろへ移す。",
    ),
    reports=(
        "完了しました。{path}の`{function}`は境界値（{number}）を含むようになり、超えた場合は{code}になります。テストはすべて"
        "通っています。HTTP APIは変更していません。残件：夜間処理も同じ項目を読みますが、テストがありません。",
        "{ticket}を修正しました。原因は`{function}`で、丸める前の{field}を比較していたことです。{number}のテストを追加しました。",
        "{noun}の{aspect}はご要望どおり動きます。{path}にある二つの呼び出し元が同期処理なので、`{function}`も同期のままにしました。",
    ),
    comments=(
        "{field}は丸めてから比較する",
        "{ticket}を参照。呼び出し側は順序に依存している",
        "最大{number}件。検査は呼び出し側で行う",
        "新しい値を返し、{noun}そのものは変えない",
    ),
    nouns=dict(
        zip(NOUNS, ("請求書", "出荷", "予約", "クーポン", "返金", "倉庫", "定期購入", "問い合わせ"), strict=True)
    ),
)

PHRASES: Mapping[Language, Phrases] = {"en": ENGLISH, "ja": JAPANESE}
