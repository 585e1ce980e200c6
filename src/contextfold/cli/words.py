"""What people read most, in English and Japanese: notes, questions, what commands say at their end.

Names of commands, options and JSON fields are English everywhere; a program reads those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from .doctor_words import DOCTOR_WORDS

Language: TypeAlias = Literal["en", "ja"]
_LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")

_WORDS: Mapping[str, tuple[str, str]] = {
    **DOCTOR_WORDS,
    "colon": (": ", "："),
    "note": ("note:", "お知らせ："),
    "interrupted": ("interrupted; what was done so far is kept", "中断しました。ここまでの結果は残っています"),
    "bug": (
        "{kind}: {told}. Please report it; CONTEXTFOLD_DEBUG=1 shows where it happened.",
        "{kind}: {told}。ご報告ください。CONTEXTFOLD_DEBUG=1 で発生箇所を表示します。",
    ),
    "look": (
        "look at it with: contextfold show --store={store} {thread}",
        "見るには: contextfold show --store={store} {thread}",
    ),
    "serve.ready": ("The gateway listens on {where}", "ゲートウェイを {where} で待ち受けています"),
    "serve.store": ("conversations: {store}   mode: {mode}", "会話の保存先: {store}   モード: {mode}"),
    "serve.secret": (
        "The path holds your token: keep it to yourself. Keys of providers pass through and are never kept.",
        "パスにはトークンが含まれています。他人に見せないでください。プロバイダーのキーは保存されません。",
    ),
    "serve.unkept": (
        "the gateway has stopped; {unread} requests or answers passed without being kept",
        "ゲートウェイを停止しました。{unread} 件のリクエストまたは応答は保存されていません",
    ),
    "serve.stopped": ("everything is kept; the gateway has stopped", "すべて保存し、ゲートウェイを停止しました"),
    "plugin.status": (
        "For a status line with the window's fill, put this into the agent's settings.json:",
        "ウィンドウの使用率を示すステータス行には、エージェントの settings.json に次を加えてください:",
    ),
    "wrap.ended": (
        "{turns} turns kept in {store}, {folds} folds made",
        "{turns} 回のやり取りを {store} に保存し、{folds} 回たたみました",
    ),
    "top.none": ("no gateway of yours runs here", "動いているゲートウェイはありません"),
    "top.counted": (
        "{under_way} under way  {turns} turns  {folds} folds  {tokens_hidden} tokens hidden  {unread} not kept",
        "処理中 {under_way}  やり取り {turns}  たたみ {folds}  隠したトークン {tokens_hidden}  未保存 {unread}",
    ),
    "top.unkept": ("NOTHING IS KEPT since {since}; requests: {requests}", "{since} から未保存。リクエスト: {requests}"),
    "top.head": (
        "conversation               model           messages folds  full  saved      paid",
        "会話                       モデル            件数  たたみ  充填   節約      費用",
    ),
    "serve.inspector": (
        "Look at the conversations in a browser (the link works once)",
        "会話をブラウザーで見る（リンクは一度だけ使えます）",
    ),
    "inspect.ready": ("Open this link to look at {store}:", "{store} を見るには、このリンクを開いてください："),
    "inspect.secret": (
        "It works once, on this machine alone. Stop with Ctrl-C.",
        "リンクはこのマシンで一度だけ使えます。Ctrl-C で終了します。",
    ),
    "written": ("{file} is written", "{file} を書き出しました"),
    "assumed": (
        "? means assumed: nobody told us this window. Set max_input_tokens in contextfold.toml.",
        "? は仮の値です。contextfold.toml で max_input_tokens を設定してください。",
    ),
    "confirm": ("Type {word} to go on: ", "続けるには {word} と入力してください: "),
    "forget.thread": (
        "This erases all {count} messages of {thread} for good, here and in its forks. There is no undo.",
        "{thread} の {count} 件のメッセージを、フォークも含めて完全に消去します。元に戻せません。",
    ),
    "forget.message": (
        "This erases message {seq} of {thread}, and every stand-in made after it, for good. There is no undo.",
        "{thread} のメッセージ {seq} と、それ以降に作られた代わりの文を完全に消去します。元に戻せません。",
    ),
    "forget.done": (
        "erased {count} texts; the chain still verifies",
        "{count} 件の本文を消去しました。連鎖は検証できます",
    ),
    "forget.promise": (
        "Sizes, times and roles stay, and the thread's name. Earlier backups, exports and reports, what a provider was "
        "sent, and blocks or snapshots of the disk are not touched.",
        "大きさ、時刻、役割とスレッド名は残ります。以前のバックアップ、エクスポート、レポート、プロバイダーに送った内容、"
        "ディスクのブロックやスナップショットは対象外です。",
    ),
    "forget.shared": (
        "{count} texts are shared with {origin} and stay there; `contextfold forget {named}` erases them too",
        "{count} 件の本文は {origin} と共有のため残ります。消すには `contextfold forget {named}`",
    ),
    "threads.more": ("there may be more: --after={after}", "続きがあるかもしれません: --after={after}"),
    "threads.forgotten": ("forgotten", "消去済み"),
    "threads.archived": ("put away", "保管済み"),
    "renamed": (
        "{before} is called {thread} now; the earlier name still leads to it",
        "{before} の名前を {thread} にしました。以前の名前でも開けます",
    ),
    "archived": (
        "{thread} is put away; `contextfold threads --all` lists it, `contextfold unarchive` brings it back",
        "{thread} を保管しました。`contextfold threads --all` で表示、`contextfold unarchive` で戻せます",
    ),
    "unarchived": ("{thread} is in the list again", "{thread} を一覧に戻しました"),
    "import.unplaced": ("not as it was: {told}", "元のままではありません: {told}"),
    "adopt.found": (
        "{path} holds {count} snapshots, to be taken over for {workspace}. Nothing there is run.",
        "{path} の {count} 個のスナップショットを {workspace} に引き継ぎます。そこの物は何も実行しません。",
    ),
    "adopt.left_behind": ("What git would obey there stays behind: {names}.", "引き継がないもの: {names}。"),
    "adopt.ask": (
        "Nobody is there to be asked; say --yes if you are sure.",
        "確認する相手がいません。よければ --yes を付けてください。",
    ),
    "adopt.done": (
        "{count} snapshots of {workspace} taken over",
        "{workspace} のスナップショットを {count} 個引き継ぎました",
    ),
    "verify.sound": (
        "{store} is sound: {threads} threads, {events} events verified",
        "{store} は健全です。{threads} スレッド、{events} イベントを検証しました",
    ),
    "verify.problems": ("{store} has {count} problems", "{store} に {count} 件の問題があります"),
    "backup.done": ("{target} is a verified copy of {store}", "{target} は {store} の検証済みコピーです"),
    "copy.progress": ("threads copied", "コピーしたスレッド"),
    "copy.done": (
        "{target} holds all {count} threads, verified; {new} of them and {events} events are new there",
        "{target} に {count} スレッドがすべてあり、検証済みです（新しいスレッド {new}、イベント {events}）",
    ),
    "migrate.done": (
        "{store} is at version {wanted} now, from {found}",
        "{store} を版 {found} から {wanted} にしました",
    ),
    "migrate.needed": (
        "{store} is at version {found} and needs `contextfold migrate` to {wanted}",
        "{store} は版 {found} です。{wanted} にするには `contextfold migrate` が必要です",
    ),
    "migrate.nothing": ("{store} is at version {wanted}; nothing to do", "{store} は版 {wanted} で、作業は不要です"),
    "retention.would": (
        "{count} threads, {size} bytes, would be forgotten; --yes does it",
        "{count} スレッド、{size} バイトが消去の対象です。実行するには --yes",
    ),
    "retention.done": (
        "forgot {count} threads, {size} bytes; the chain still verifies",
        "{count} スレッド、{size} バイトを消去しました。連鎖は検証できます",
    ),
    "folded": (
        "{before} tokens became {after} ({count} folds)",
        "{before} トークンが {after} トークンになりました（折りたたみ {count} 件）",
    ),
    "folded.nothing": ("nothing was folded: {reason}", "折りたたみはありません: {reason}"),
    "refused.nothing-to-fold": ("there is nothing left to fold", "折りたたむものが残っていません"),
    "refused.just-folded": ("too little was said since the last fold", "前回の折りたたみからの発言がわずかです"),
    "refused.empty": ("the summary came back empty", "要約が空でした"),
    "refused.grew": (
        "the stand-in would be no smaller than what it replaces",
        "代わりの文が元より小さくなりません",
    ),
    "refused.cut-off": ("the summary was cut off", "要約が途中で切れました"),
    "refused.refusal": ("the model refused to summarize", "モデルが要約を拒みました"),
    "refused.tool-call": ("the model called a tool instead", "モデルが要約せずツールを呼びました"),
    "refused.wrong-language": ("the summary is in another language", "要約が別の言語でした"),
    "refused.timed-out": ("the summarizer took too long", "要約が時間内に終わりませんでした"),
    "refused.cancelled": ("it was cancelled", "取り消されました"),
    "refused.failed": ("the summarizer failed", "要約に失敗しました"),
    "refused.auth": ("the provider does not know the key", "プロバイダーが鍵を認めません"),
    "refused.overflow": ("it is larger than the summarizer's window", "要約するモデルのウィンドウを超えます"),
    "refused.transient": ("the provider is overloaded or out of reach", "プロバイダーが混雑しているか、届きません"),
    "refused.unprofitable": ("folding would cost more than it saves", "折りたたんでも得になりません"),
    "refused.stale": ("the thread moved on in the meantime", "その間にスレッドが進みました"),
    "refused.unsupported": ("this model has no such thing", "このモデルにはその機能がありません"),
    "unfolded": (
        "fold {fold} is taken back: {before} tokens became {after}",
        "折りたたみ {fold} を元に戻しました: {before} → {after} トークン",
    ),
    "preview": (
        "{before} tokens would become {after} of {usable}",
        "{before} → {after} トークンになります（上限 {usable}）",
    ),
    "preview.refused": ("that does not fit, and would be refused", "収まらないため、実行できません"),
    "preview.nothing": ("nothing would be folded: {reason}", "折りたたまれるものはありません: {reason}"),
    "preview.hides": ("would be hidden: {what}", "隠れるもの: {what}"),
    "preview.shows": ("would show: {what}", "見えるもの: {what}"),
    "preview.messages": ("messages {seqs}", "メッセージ {seqs}"),
    "preview.blocks": ("parts of messages {seqs}", "一部のみ: メッセージ {seqs}"),
    "preview.stand_ins": ("stand-ins of folds {seqs}", "折りたたみ {seqs} の代替文"),
    "preview.price": (
        "{price} {unit} on the next request, {later} on each one after it",
        "次のリクエストで {price} {unit}、その後は毎回 {later}",
    ),
    "rewound": (
        "the head is at {head}; {messages} messages and {folds} folds are left behind, `contextfold redo` returns",
        "現在位置は {head} です。メッセージ {messages} 件、折りたたみ {folds} 件を離れました。"
        "戻るには `contextfold redo`",
    ),
    "rewound.preview": (
        "the head would be at {head}; {messages} messages and {folds} folds would be left behind",
        "現在位置は {head} になります。メッセージ {messages} 件、折りたたみ {folds} 件を離れます",
    ),
    "redone": (
        "the head is at {head} again; {messages} messages and {folds} folds are back",
        "現在位置は再び {head} です。メッセージ {messages} 件と折りたたみ {folds} 件が戻りました",
    ),
    "replay.cut": ("interrupted: this is what was finished", "中断されました。ここまでに終わった分です"),
    "replay.why": ("{count} times something was folded; the largest:", "折りたたみは {count} 回。大きい順に:"),
    "replay.valid": (
        "{wrong} of {of} requests would be rejected",
        "{of} 件のリクエストのうち、拒否されるものは {wrong} 件",
    ),
    "replay.fit": (
        "{wrong} of {of} requests are larger than the window",
        "{of} 件のリクエストのうち、ウィンドウを超えるものは {wrong} 件",
    ),
    "replay.kept": ("{wrong} messages lost", "消失したメッセージは {wrong} 件"),
    "replay.policy": ("policy", "ポリシー"),
    "replay.requests": ("requests", "要求"),
    "replay.folds": ("folds", "折り"),
    "replay.cost": ("cost", "費用"),
    "replay.against_full": ("of full", "全履歴比"),
    "replay.calls": ("calls", "要約呼出"),
    "replay.strict": ("names", "名前"),
    "replay.imperatives": ("orders", "指示"),
    "replay.recallable": ("recall", "再取得"),
    "diff.same": ("The model sees the same.", "モデルに見えるものは同じです。"),
    "diff.prefix": ("the first {tokens} tokens are unchanged", "先頭の {tokens} トークンは同じです"),
    "fold.cache": (
        "the first {kept} tokens stay in the provider's cache, {rewritten} do not",
        "先頭の {kept} トークンはプロバイダーのキャッシュに残り、{rewritten} は残りません",
    ),
    "fold.undo": (
        "contextfold unfold {fold} takes the last one back",
        "contextfold unfold {fold} で最後の折りたたみを戻せます",
    ),
    "model.guess": (
        "no list has a model {name}; did you mean {meant}? It is used as it is called",
        "モデル {name} はどの表にもありません。{meant} のことですか。名前はそのまま使います",
    ),
    "checkpoint.left_out": ("left out: {path} ({why})", "除外: {path}（{why}）"),
    "checkpoint.none": (
        'No checkpoints yet. `contextfold checkpoint "NAME"` makes one.',
        "チェックポイントはまだありません。`contextfold checkpoint 名前` で作れます。",
    ),
    "threads.thread": ("thread", "スレッド"),
    "threads.model": ("model", "モデル"),
    "threads.said": ("said", "発言"),
    "threads.shown": ("shown", "表示"),
    "threads.tokens": ("tokens", "トークン"),
    "threads.folds": ("folds", "たたみ"),
    "threads.active": ("active", "最終活動"),
    "pinned": ("pinned in {thread}: {seqs}", "{thread} のピン留め: {seqs}"),
    "pinned.none": ("nothing", "なし"),
    "diff.no_file": ("No file changed.", "変わったファイルはありません。"),
    "export.done": ("{name} is in {place}", "{name} を {place} に書き出しました"),
    "export.bytes": ("{name} is in {place} ({size} bytes)", "{name} を {place} に書き出しました（{size} バイト）"),
    "folds.none": (
        "{thread} has no folds: the model sees everything that was said.",
        "{thread} に折りたたみはありません。モデルにはすべての発言が見えます。",
    ),
    "fork.done": ("{name} begins after {head} of {thread}", "{name} は {thread} の {head} の後から始まります"),
    "threads.none": (
        "{store} has no thread yet. `contextfold import FILE` makes one.",
        "{store} にはまだスレッドがありません。`contextfold import FILE` で作れます。",
    ),
    "validate.valid": (
        "valid: its provider would take this request",
        "正当: プロバイダーはこのリクエストを受け取ります",
    ),
    "stats.no_model": ("no model", "モデルなし"),
    "config.file": ("settings file: {path}", "設定ファイル: {path}"),
    "trust.done": ("{path} is trusted as it is now: {names}", "{path} を今の内容で信頼します: {names}"),
    "trust.revoked": ("{path}, as it is now, is not trusted", "今の内容の {path} は信頼しません"),
    "config.no_file": ("none (./contextfold.toml would be read)", "なし（./contextfold.toml があれば読みます）"),
    "checkpoint.after": (" · after {head}", " · {head} の後"),
    "checkpoint.files": (" · {files} files of {root}", " · {root} の {files} ファイル"),
    "fold.attempt": ("{model}: {given} tokens in, {got} out", "{model}: 入力 {given} トークン、出力 {got}"),
    "import.empty": ("{file}: a conversation without messages ({format})", "{file}: メッセージのない会話（{format}）"),
    "import.done": ("{thread}: {many} messages ({format})", "{thread}: メッセージ {many} 件（{format}）"),
    "import.new": ("{many} new", "新規 {many}"),
    "import.folds": ("{many} folds", "折りたたみ {many}"),
    "import.skipped": ("{many} skipped", "省略 {many}"),
    "import.defects": ("{many} defects", "不備 {many}"),
    "context.used": ("{used} of {window} tokens are used", "{window} トークン中 {used} を使用"),
    "context.system": ("system prompt", "システムプロンプト"),
    "context.tools": ("tools", "ツール定義"),
    "context.fixed": ("system prompt and tools", "システムプロンプトとツール"),
    "context.summary": ("stand-ins: {name}", "代わりの文: {name}"),
    "context.result": ("results: {name}", "ツール結果: {name}"),
    "context.user": ("what people said", "利用者の発言"),
    "context.assistant": ("what the model said", "モデルの発言"),
    "context.other": ("system messages", "システムメッセージ"),
    "context.reserve": ("room for the answer", "回答用の余地"),
    "context.free": ("free", "空き"),
    "context.tail": ("of it the tail: {many} messages as they were said", "うち末尾: そのままの {many} 件"),
    "usage.day": ("day", "日付"),
    "usage.model": ("model", "モデル"),
    "usage.project": ("project", "プロジェクト"),
    "usage.requests": ("requests", "リクエスト"),
    "usage.input": ("input", "入力"),
    "usage.read": ("from cache", "キャッシュから"),
    "usage.output": ("output", "出力"),
    "usage.cost": ("cost", "費用"),
    "usage.total": ("all", "合計"),
    "usage.none": ("no bills found", "請求の記録は見つかりませんでした"),
    "usage.unpriced": (
        "{count} bills are of models whose prices are not known; their money is missing",
        "価格の分からないモデルの請求 {count} 件は金額に含まれていません",
    ),
    "recall.nothing": (
        "Nothing that is out of view answers this. --all searches every thread, and what is in view.",
        "表示されていない部分には見つかりません。--all ですべてのスレッドと表示中の部分も探します。",
    ),
    "reindexed": (
        "the index of {store} is made anew: {threads} threads",
        "{store} の索引を作り直しました: {threads} スレッド",
    ),
    "memory.added": ("remembered as {id}", "{id} 番として記憶しました"),
    "memory.none": ("nothing is remembered", "記憶はありません"),
}


def choose(wish: str, environ: Mapping[str, str]) -> Language:
    """The language asked for, else the terminal's, else English."""
    told = wish or environ.get("CONTEXTFOLD_LANGUAGE", "")
    if not told:
        told = next((environ[name] for name in _LOCALES if environ.get(name)), "")
    return "ja" if told.lower().startswith("ja") else "en"


def say(key: str, language: Language, **values: object) -> str:
    """The words for this, with values put in; one of something is not several."""
    template = _WORDS[key][language == "ja"]
    for name in [name for name, value in values.items() if str(value) == "1"]:
        template = re.sub(rf"({{{name}}} [a-z]+)s\b", r"\1", template)
    return template.format(**values)
