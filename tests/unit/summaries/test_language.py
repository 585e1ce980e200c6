import pytest

from contextfold.summaries import language_of


@pytest.mark.parametrize(
    "said",
    [
        ["テストを直して"],
        ["src/contextfold/domain/messages.py のテストを直してください"],
        ["`git status --short` を実行して", "OK"],
        ["```python\nfor item in items:\n    print(item)\n```\nこれは何？"],
    ],
)
def test_a_japanese_request_is_japanese_whatever_it_quotes(said: list[str]) -> None:
    assert language_of(said) == "ja"


@pytest.mark.parametrize(
    "said",
    [[], ["fix the tests"], ["please translate テスト for the readme of the project"], ["修复测试"], ["12345 !?"]],
)
def test_everything_without_mostly_kana_gets_english_headings(said: list[str]) -> None:
    assert language_of(said) == "en"
