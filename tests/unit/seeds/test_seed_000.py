"""Seed 000, the essay: its worked examples, computed instead of written down."""

from collections.abc import Callable
from typing import Any

import pytest

import contextfold as cf
from contextfold import models
from contextfold.domain import roo_tags
from contextfold.folding import Window
from contextfold.testing import Scripted
from tests.unit.folding.scene import assistant, user

Limited = Callable[..., str]

# Evolution 2: twelve messages, and the new one that its example shows as id 12.
PROJECT: list[dict[str, Any]] = [
    user("プロジェクト初期化して"),
    assistant("npm init実行しました"),
    user("Reactをインストール"),
    assistant("インストール完了"),
    user("App.tsxを作成"),
    assistant("作成しました"),
    user("ボタンコンポーネント追加"),
    assistant("Button.tsxを作成"),
    user("スタイル調整"),
    assistant("CSSを更新"),
    user("ビルド実行"),
    assistant("成功しました"),
    user("テスト実行して"),
]
SUMMARY = """\
1. これまでの会話：ユーザーがReactプロジェクトのセットアップを依頼した。
2. 現在の作業：Button.tsxの作成とスタイルの調整を終えた。
4. 関連ファイルとコード：package.json、App.tsx、Button.tsx。
6. 未完了のタスクと次の手順：ビルドとテスト。"""
BRIEF = "Reactを準備し、App.tsxとButton.tsxを作り、スタイルを調整した。次はビルドとテスト。"


def opened(model: str, messages: list[dict[str, Any]], **options: Any) -> cf.Session:
    held = cf.Session.open(model=model, **options)
    for message in messages:
        held.append(message)
    return held


def shown(held: cf.Session) -> list[int | str]:
    """The numbers the example gives its messages, and the words of whatever stands between them."""
    return [each.seq - 1 if each.kind == "message" else each.text for each in held.view.messages]


@pytest.mark.seed("E5")
def test_condensing_the_example_keeps_the_first_and_the_last_three_and_hides_one_to_nine(window: Limited) -> None:
    policy = cf.recipes.roo_code(summarizer=Scripted(BRIEF)).with_(least_gain=-1_000)  # its frame outweighs the gain
    held = opened(window(8_000, "gpt-4o"), PROJECT, policy=policy)
    report = held.fold()
    first, summary, *last = shown(held)
    assert (first, last) == (0, [10, 11, 12])
    assert BRIEF in str(summary)
    assert [message.text for message in held.recall(fold=held.folds[0].id)] == [m["content"] for m in PROJECT[1:10]]
    # The size it claims is the size that is sent.
    sent = cf.count(held.prepare().body["messages"], model="gpt-4o")
    assert report.after == sent.tokens


@pytest.mark.seed("E1", "E5")
def test_a_summary_longer_than_what_it_replaces_is_not_taken(window: Limited) -> None:
    """The essay claims two thirds saved on the same twelve messages; counted, that summary would cost more."""
    held = opened(window(8_000, "gpt-4o"), PROJECT, policy=cf.recipes.roo_code(summarizer=Scripted(SUMMARY)))
    report = held.fold()
    assert (report.folds, report.after) == ((), report.before)
    assert [attempt.refusal for attempt in report.attempts] == ["grew", "grew"]
    assert shown(held) == list(range(13))


@pytest.mark.seed("E5")
def test_hiding_half_of_five_messages_and_showing_them_again(window: Limited) -> None:
    """Evolution 1: ids 2 and 3 go behind a marker, and come back when it is removed."""
    talk = [user("Hello"), assistant("Hi!"), user("How are you?"), assistant("I'm good!"), user("Great!")]
    policy = cf.recipes.roo_code().with_(stages=(Window(fraction=0.5),), least_gain=-1_000)
    held = opened(window(8_000, "gpt-4o"), talk, policy=policy)
    marker = held.thread.fold([2, 3], "[Truncation: 2 messages hidden]", kind="window")
    assert shown(held) == [0, "[Truncation: 2 messages hidden]", 3, 4]
    tags = {tag.seq: tag for tag in roo_tags(held.thread.branch)}
    assert [tags[seq].truncation_parent for seq in (1, 2, 3, 4, 5)] == ["", str(marker), str(marker), "", ""]
    assert tags[marker].is_truncation_marker
    held.unfold(marker)
    assert shown(held) == [0, 1, 2, 3, 4]
    assert not any(tag.truncation_parent for tag in roo_tags(held.thread.branch))


@pytest.mark.seed("E30")
@pytest.mark.parametrize("profile", sorted(models.recommended()))
def test_every_recommended_profile_keeps_room_for_the_answer_and_has_something_to_fall_back_to(
    window: Limited, profile: str
) -> None:
    chosen = models.recommended()[profile].profile
    held = opened(
        window(8_000, "gpt-4o"),
        [m for n in range(60) for m in (user(f"q{n} " + "word " * 80), assistant("a " + "word " * 80))],
        policy=cf.recipes.roo_code(profile=chosen, summarizer=Scripted(RuntimeError("gone"))),
    )
    held.append(user("and now?"))
    request = held.prepare(max_tokens=1_500)
    assert request.report.after <= 8_000 - 1_500
    assert [fold.kind for fold in request.report.folds] == ["window"]
