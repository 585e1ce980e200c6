"""What `doctor` says, in English and Japanese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DOCTOR_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "doctor.no_git": ("checkpoints of a workspace need git", "ワークスペースのチェックポイントには git が必要です"),
    "doctor.installation": ("Installation", "インストール"),
    "doctor.settings": ("Settings", "設定"),
    "doctor.store": ("Store", "ストア"),
    "doctor.models": ("Models", "モデル"),
    "doctor.keys": ("Keys in the log", "ログ中の鍵らしい文字列"),
    "doctor.rescued": (
        "{thread}: {count} events saved, {words} of them without their words",
        "{thread}: {count} 件のイベントを保存しました(本文が失われたもの {words} 件)",
    ),
    "doctor.rescue.ended": (
        "lost from event {seq} on: it is damaged, and nothing after it can be proven",
        "イベント {seq} 以降は失われました。破損しており、それ以降は検証できません",
    ),
    "doctor.well": ("all is well", "問題はありません"),
    "doctor.look": ("{count} things to look at", "確認が必要な項目が {count} 件あります"),
    "doctor.ill": ("{count} problems", "問題が {count} 件あります"),
    "doctor.extra.absent": (
        "optional, not here: pip install 'contextfold[{extra}]' adds it",
        "任意。未インストール: pip install 'contextfold[{extra}]' で追加できます",
    ),
    "doctor.no_settings": (
        "no contextfold.toml; everything is as shipped or from the environment",
        "contextfold.toml はありません。既定値と環境変数だけを使います",
    ),
    "doctor.settings.read": (
        "{path} is read; `contextfold config` lists what holds",
        "{path} を読みました。`contextfold config` で一覧できます",
    ),
    "doctor.variable": ("{name} means nothing to us{guess}", "{name} は使われません{guess}"),
    "doctor.no_store": (
        "there is no store {path} yet; `contextfold import` makes one",
        "ストア {path} はまだありません。`contextfold import` で作れます",
    ),
    "doctor.store.sound": (
        "{path} verifies: {threads} threads, {events} events",
        "{path} を検証しました: {threads} スレッド、{events} イベント",
    ),
    "doctor.store.broken": ("{path}: {problem}", "{path}: {problem}"),
    "doctor.store.mode": (
        "{path} can be read by others (mode {mode}): chmod 600 it",
        "{path} は他人が読めます（モード {mode}）。chmod 600 してください",
    ),
    "doctor.store.room": ("{free} free on its disk", "ディスクの空きは {free}"),
    "doctor.store.full": ("only {free} free on its disk", "ディスクの空きが {free} しかありません"),
    "doctor.model": (
        "window {window} ({source}), counted {how}",
        "ウィンドウ {window}（出典: {source}）、数え方: {how}",
    ),
    "doctor.model.assumed": (
        "window {window} is assumed: set max_input_tokens for it in contextfold.toml",
        "ウィンドウ {window} は仮の値です。contextfold.toml で max_input_tokens を設定してください",
    ),
    "doctor.left_out": (
        "left out, because the file merely lies here: {names}; with `contextfold trust` or --trust they hold",
        "ここに置かれているだけのファイルなので無視しました: {names}。`contextfold trust` か --trust で有効になります",
    ),
    "doctor.plugin": (
        "{group}, from {package}: its code runs when it is used",
        "{group}（{package} から）: 使うときにそのコードが実行されます",
    ),
    "doctor.plugin.none": ("no package adds to contextfold", "contextfold に機能を加えるパッケージはありません"),
    "doctor.keys.none": ("none found in {count} texts", "{count} 件の本文に見つかりませんでした"),
    "doctor.keys.found": (
        "{thread} seq {seq}: {kind} {shown}; revoke it, then: contextfold forget --seq {seq} {named}",
        "{thread} seq {seq}: {kind} {shown}。無効化してから: contextfold forget --seq {seq} {named}",
    ),
}
