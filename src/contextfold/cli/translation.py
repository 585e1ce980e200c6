"""Errors of the library in Japanese: each English sentence with its fields, and the Japanese one.

The library raises in English, so that logs and searches agree everywhere; the command line tells people in their own
language. A sentence that is not here is shown in English under a Japanese headline. A test compares this list with
every place that raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from . import advice_ja, errors_ja, labels_ja

# In order: what is more special comes first.
_SENTENCES: dict[str, str] = {
    # -- the command line
    "There is no command {a}; did you mean {b}? See `contextfold --help`.": "コマンド {a} はありません。{b} のことですか。`contextfold --help` を参照してください。",
    "There is no command {a}. See `contextfold --help`.": "コマンド {a} はありません。`contextfold --help` を参照してください。",
    "There is no {a} in this command; did you mean {b}? See {c}.": "このコマンドに {a} はありません。{b} のことですか。{c} を参照してください。",
    "There is no {a} in this command. See {c}.": "このコマンドに {a} はありません。{c} を参照してください。",
    "The following arguments are required: {a}. See {b}.": "引数が足りません: {a}。{b} を参照してください。",
    "One of the arguments {a} is required. See {b}.": "{a} のいずれかを指定してください。{b} を参照してください。",
    "Argument {a}: not allowed with argument {b}. See {c}.": "{a} と {b} は同時に指定できません。{c} を参照してください。",
    "Argument {a}: expected at least one argument. See {b}.": "{a} には値が要ります。{b} を参照してください。",
    "Argument {a}: ignored explicit argument {b}. See {c}.": "{a} は値 {b} を取りません。{c} を参照してください。",
    "Argument {a}: {b} is no number. See {c}.": "{a}: {b} は数ではありません。{c} を参照してください。",
    "Argument {a}: {b} is no age; write 180d, 26w or 2y. See {c}.": "{a}: {b} は期間ではありません。180d、26w、2y のように書いてください。{c} を参照してください。",
    "Argument {a}: invalid choice: {b} (choose from {c}). See {d}.": "{a} に {b} は使えません（選べるもの: {c}）。{d} を参照してください。",
    "Argument {a}: expected one argument. See {b}.": "{a} には値が一つ必要です。{b} を参照してください。",
    "Argument {a}: {b} is no size; write 200000, 200k or 1m. See {c}.": "{a}: {b} は大きさではありません。200000、200k、1m のように書いてください。{c} を参照してください。",
    "Argument {a}: {b} is no seq; `contextfold show` has them in its first column. See {c}.": "{a}: {b} は seq ではありません。`contextfold show` の最初の列にあります。{c} を参照してください。",
    "Argument {a}: {b} is no time; write 2026-11-16T09:30. See {c}.": "{a}: {b} は時刻ではありません。2026-11-16T09:30 のように書いてください。{c} を参照してください。",
    "{a} is no time; write 2026-11-16T09:30": "{a} は時刻ではありません。2026-11-16T09:30 のように書いてください",
    "In {a} {b}. Name two seqs to compare, as `contextfold show` has them.": "{a} には比べるものがありません（{b}）。`contextfold show` にある seq を二つ指定してください。",
    "Give two places at most, or --sent. See `contextfold diff --help`.": "場所は二つまでか、--sent を指定してください。`contextfold diff --help` を参照してください。",
    "{a} exists. What is saved goes into a new file: choose another name.": "{a} はすでにあります。救出先は新しいファイルです。別の名前を選んでください。",
    "Roo's format is a directory with two files. Name it with -o.": "Roo の形式は二つのファイルを持つディレクトリです。-o で指定してください。",
    "{a} exists already. Choose another name, or remove it.": "{a} はすでにあります。別の名前を選ぶか、削除してください。",
    "This cannot be undone, and nobody is there to be asked. Say --yes if you are sure.": "元に戻せない操作ですが、確認する相手がいません。よければ --yes を付けてください。",
    "The answer was another one. Nothing was erased.": "確認の言葉が違います。何も消去していません。",
    "The answer was another one. Nothing was taken over.": "確認の言葉が違います。何も引き継いでいません。",
    "There is a thread {a} already, from elsewhere. Choose a name with --as.": "別の由来のスレッド {a} がすでにあります。--as で名前を選んでください。",
    "Nothing is piped in. Give a file, or pipe one: `contextfold … - < session.jsonl`.": "標準入力が空です。ファイルを指定するか、パイプで渡してください: `contextfold … - < session.jsonl`",
    "There are no sessions in {a}. Name files, or another directory.": "{a} に記録はありません。ファイルか別のディレクトリを指定してください。",
    "There is no file {a}. Check the path, or use - to read what is piped in.": "ファイル {a} はありません。パスを確認するか、- で標準入力を指定してください。",
    "{a} is not UTF-8 text ({b}). Save it as UTF-8.": "{a} は UTF-8 のテキストではありません（{b}）。UTF-8 で保存してください。",
    "There is no store {a} ({b}). Name one with --store, or make it with `contextfold import`.": "ストア {a} はありません（{b}）。--store で指定するか、`contextfold import` で作ってください。",
    "There is no thread {a} in {b}; did you mean {c}? Known: {d}.": "{b} にスレッド {a} はありません。{c} のことですか。あるもの: {d}。",
    "There is no thread {a} in {b}. The store is empty.": "{b} にスレッド {a} はありません。ストアは空です。",
    "There is no thread {a} in {b}. Known: {c}.": "{b} にスレッド {a} はありません。あるもの: {c}。",
    "{a} has no thread yet. Name one, as `contextfold threads` lists them, or set `thread`.": "{a} にはまだスレッドがありません。`contextfold import` で作れます。",
    "{a} has no thread in the space {b}. There are threads in other spaces: {c}. Name one with --space.": "{a} のスペース {b} にスレッドはありません。他のスペースにはあります: {c}。--space で指定してください。",
    "There are threads in other spaces: {a}. Name one with --space.": "他のスペースにもスレッドがあります: {a}。--space で指定してください。",
    "{a} has {b} threads. Name one, as `contextfold threads` lists them, or set `thread`.": "{a} には {b} 個のスレッドがあります。`contextfold threads` から一つ指定するか、`thread` を設定してください。",
    "Say one thing to recall: words, --fold or --seq. See `contextfold recall --help`.": "呼び戻すものを一つ指定してください: 言葉、--fold、--seq。`contextfold recall --help` を参照してください。",
    "No gateway of yours runs here. Start one with `contextfold serve` or `contextfold wrap`.": "動いているゲートウェイはありません。`contextfold serve` か `contextfold wrap` で起動してください。",
    "There is no command to run. Write it behind two dashes: contextfold wrap -- claude": "実行するコマンドがありません。二つのダッシュの後に書いてください: contextfold wrap -- claude",
    "There is no command {a} here. Install it, or give its path.": "コマンド {a} がありません。インストールするか、パスを指定してください。",
    "Where {a} sends its requests cannot be told because of {b}, so nothing was started. Say it with {c}; with =ADDRESS for a server of your own.": "{b} があるため、{a} の送り先が分からず、何も起動していません。{c} で指定してください。自分のサーバーなら =アドレス を付けます。",
    "{a} is no address to which requests can be sent. It begins with http:// or https:// and has no user, password or query.": "{a} はリクエストの送り先になりません。http:// か https:// で始め、ユーザー名、パスワード、クエリを含めないでください。",
    "There is no address behind --to {a}=. Give one, or leave out the sign.": "--to {a}= の後にアドレスがありません。アドレスを書くか、= を外してください。",
    "How {a} finds its provider is not known, and no variable says it, so nothing was started. Say where its requests go: --to openai, --to anthropic or --to gemini; with =ADDRESS for a server of your own.": "{a} がプロバイダーを見つける方法が分からず、変数も設定されていないため、何も起動していません。--to openai、--to anthropic、--to gemini で送り先を指定してください。自分のサーバーなら =アドレス を付けます。",
    "There is no provider {a} for --to. Use one of: {b}.": "--to に {a} というプロバイダーはありません。次のいずれかを使ってください: {b}。",
    "{a} does not read an address for {b} here. Leave out --to {c}.": "{a} はここでは {b} のアドレスを読みません。--to {c} を外してください。",
    "The command {a} cannot be run: {b}.": "コマンド {a} を実行できません: {b}。",
    "The gateway is not installed: pip install 'contextfold[gateway]'.": "ゲートウェイは未インストールです: pip install 'contextfold[gateway]'",
    "By activity a page goes on after a number, not after {a}. Say --order name.": "活動順の続きは番号で指定します。{a} は番号ではありません。--order name を使ってください。",
    "Whose snapshots are these? The store names {a}. Name one with --workspace.": "どのワークスペースのスナップショットですか。ストアにあるのは {a} です。--workspace で指定してください。",
    "Whose memory? Name whom it is about. See `contextfold memory --help`.": "誰についての記憶ですか。名前を指定してください。`contextfold memory --help` を参照してください。",
    "Which thread? See `contextfold memory --help`.": "どのスレッドですか。`contextfold memory --help` を参照してください。",
    "What is to be remembered? See `contextfold memory --help`.": "何を覚えますか。`contextfold memory --help` を参照してください。",
    "This would erase every memory here for good. Name one by its id, or say --yes.": "ここの記憶をすべて完全に消去します。番号で一つ指定するか、--yes を付けてください。",
    # -- requests and folds
    "The smallest valid request needs {a} tokens and the window allows {b}: {parts}. Shorten the largest part, unpin messages, or choose a larger model.": "最小の正当なリクエストに {a} トークン必要ですが、ウィンドウは {b} です（{parts}）。最大の部分を短くするか、ピンを外すか、より大きなモデルを選んでください。",
    "The smallest valid request needs {a} {unit} and the window allows {b}: {parts}. Shorten the largest part, unpin messages, or choose a larger model.": "最小の正当なリクエストに {a} {unit} 必要ですが、上限は {b} です（{parts}）。最大の部分を短くするか、ピンを外すか、より大きなモデルを選んでください。",
    "Unfolding {a} needs {b} tokens and the window allows {c}: {parts}. Use unfold({d}, make_room=True) to fold something older instead, or recall(fold={e}) to read it.": "折りたたみ {a} を開くと {b} トークン必要ですが、ウィンドウは {c} です（{parts}）。代わりに古いものを折りたたむか、`contextfold recall --fold {e}` で読んでください。",
    "Call {a} was refused, so its result is not taken. Do not run it; append the refusal instead: {b}": "呼び出し {a} は拒否されたため、その結果は記録しません。実行せず、拒否を記録してください: {b}",
    "The request would be rejected: {a}": "このリクエストはプロバイダーに拒否されます: {a}",
    "Nothing was said yet. Append a message before preparing a request.": "まだ発言がありません。先にメッセージを追加してください。",
    "This message of the {a} has no content. Give it some, or leave it out.": "{a} のこのメッセージには内容がありません。内容を入れるか、省いてください。",
    "This usage holds no number of tokens that we know. Give it as input, read, written, output.": "この usage に知っているトークン数がありません。input、read、written、output で指定してください。",
    "Nobody is asked or told for a preview.": "プレビューでは誰にも問い合わせず、何も知らせません。",
    "A trial of thread {a} is in no store. Fork the thread itself.": "スレッド {a} の試行はどのストアにもありません。スレッド自体から分岐してください。",
    "There is no fold {a} on this branch. The live ones are {b}.": "この枝に折りたたみ {a} はありません。有効なもの: {b}。",
    "There is no live fold {a} on this branch. The live ones are {b}.": "この枝に有効な折りたたみ {a} はありません。有効なもの: {b}。",
    "A fold covers whole messages or parts of messages. Make two folds.": "一つの折りたたみが覆うのは、メッセージ全体か、その一部のどちらかです。二つに分けてください。",
    "{a} blocks are covered by {b} texts. Give one text for each block.": "{a} 個の部分に対して文が {b} 個です。部分ごとに一つ与えてください。",
    # -- places and threads
    "Something in thread {a} was forgotten. Look again.": "スレッド {a} で何かが消去されました。もう一度見てください。",
    "something was forgotten while the summary was being written": "要約の作成中に何かが消去されました",
    "There is no {a} on this branch. The nearest are {why}.": "この枝に {a} はありません。近いもの: {why}。",
    "There is no event {a} in thread {b}. The newest is {c}.": "スレッド {b} にイベント {a} はありません。最新は {c} です。",
    "There is no message {a} in thread {b}. Its messages are in `thread.events`.": "スレッド {b} にメッセージ {a} はありません。`contextfold show` で確認できます。",
    "{a} is no message (something was {kind} there). The nearest messages are {why}.": "{a} はメッセージではありません（{kind}）。近いメッセージ: {why}。",
    "There is no message at {a}: this branch has {b}, counted from 0.": "{a} 番目のメッセージはありません。この枝には 0 から数えて {b} 件あります。",
    "Message {a} is not pinned. The pinned ones are {b}.": "メッセージ {a} はピン留めされていません。ピン留め: {b}。",
    "There is nothing to redo: no rewind, or something was said since. Fork at the seq you want.": "やり直すものはありません。巻き戻していないか、その後に発言があります。望む seq でフォークしてください。",
    "Nothing was said at {a} or later. {why}": "{a} 以降に発言はありません。{why}",
    "{a} is no time. Give seconds or milliseconds since 1970, or a datetime.": "{a} は時刻ではありません。1970 年からの秒かミリ秒、または日時を指定してください。",
    "Thread {a} moved on: its head is {b}, not {c}. Look again.": "スレッド {a} は先に進みました。現在位置は {b} で、{c} ではありません。見直してください。",
    "There is no thread {a} here. Those used last are {b}.": "スレッド {a} はありません。最近使ったもの: {b}。",
    "There is a thread {a} already. Choose another name for the fork.": "スレッド {a} はすでにあります。フォークに別の名前を選んでください。",
    "There is a thread {a} already. Import the task under another name.": "スレッド {a} はすでにあります。別の名前で取り込んでください。",
    "A thread cannot be renamed to nothing. Give it a name.": "空の名前には変更できません。名前を付けてください。",
    "Nothing was answered yet in thread {a}. Run the sub-agent first.": "スレッド {a} にはまだ回答がありません。先にサブエージェントを実行してください。",
    "event {a} is no checkpoint": "イベント {a} はチェックポイントではありません",
    "event {a} is no fold": "イベント {a} は折りたたみではありません",
    "There is no checkpoint {a} in thread {b}. Known ones: {c}.": "スレッド {b} にチェックポイント {a} はありません。あるもの: {c}。",
    "Checkpoint {a} kept no files.{b} The conversation can be rewound to it.": "チェックポイント {a} はファイルを保存していません。{b} 会話はそこへ巻き戻せます。",
    "Files can be rewound only to a checkpoint that kept them: rewind(to=checkpoint, files=True), or to a time at which there was one.": "ファイルは、それを保存したチェックポイントか、その時点にだけ巻き戻せます。",
    "The last rewind changed no files, so there are none to bring back.": "直前の巻き戻しはファイルを変えていないため、戻すものはありません。",
    "The workspace cannot be used: {a}. Nothing of the conversation changed.": "ワークスペースを使えません: {a}。会話は変わっていません。",
    "There is no directory for artifacts. Open the session with artifacts=DIR.": "退避先のディレクトリがありません。--artifacts で指定してください。",
    "The output could not be put aside in {a} ({b}). The message is in the log, and no half file is left. Make room or check the directory, then go on; the next large output is tried again.": "出力を {a} に退避できませんでした（{b}）。メッセージは記録済みで、書きかけのファイルは残っていません。空きを作るかディレクトリを確認してください。次の大きな出力で再び試みます。",
    "There is no format {a}. Known ones: {b}.": "形式 {a} はありません。あるもの: {b}。",
    "{a} cannot be written: {b}. Choose another place.": "{a} に書けません: {b}。別の場所を選んでください。",
    "No layer holds a note {a}. Those there are stand in `state.entries`.": "メモ {a} を持つ層はありません。`state.entries` にあるものから選んでください。",
    "A permission needs a name.": "許可には名前が必要です。",
    "The settings of request {a} are not here: an older version kept none, or something that it showed was forgotten. Its bytes are not known. `view_at({b})` shows its messages.": "リクエスト {a} の設定がありません。古い版が記録しなかったか、見せた内容が消去されたため、バイト列は分かりません。`contextfold show --at {b}` でメッセージを見られます。",
    "Request {a} cannot be rebuilt byte for byte: something that it showed was forgotten, or this version writes it otherwise. `view_at({b})` shows what is left of it.": "リクエスト {a} をそのままのバイト列では再現できません。内容が消去されたか、この版の書き方が違います。`contextfold show --at {b}` で残りを見られます。",
    "{a} is no request of thread {b}, nor the answer to one. {c}": "{a} はスレッド {b} のリクエストでも、その回答でもありません。{c}",
    "There is no scope {a}. Use one of: {b}.": "範囲 {a} はありません。選べるもの: {b}。",
    "A memory needs the name of whom it is about.": "記憶には、誰についてのものか名前が必要です。",
    "There is no kind of memory {a}. Use one of: {b}.": "記憶の種類 {a} はありません。選べるもの: {b}。",
    "A memory without words says nothing. Give it some.": "言葉のない記憶は意味を持ちません。言葉を与えてください。",
    "There is no memory {a} of {b} {c}. Its `entries()` has the ids.": "{b} {c} に記憶 {a} はありません。`entries()` に番号があります。",
    "'system' is a string or a list of text blocks; this is a {a}. Pass its words.": "'system' は文字列かテキストブロックの一覧です。{a} ではなく、言葉を渡してください。",
    # -- the store
    "There is nothing to read in memory that is new. Name a file with read_only=True.": "新しいメモリー上のストアには読むものがありません。read_only=True ではファイルを指定してください。",
    "Only a store in a file can be backed up. Export its threads instead.": "バックアップできるのはファイルのストアだけです。代わりにスレッドを書き出してください。",
    "This store was opened by the process this one was forked from. Open the store here.": "このストアは親プロセスが開いたものです。ここで開き直してください。",
    "{a} Nothing was imported; export it again.": "{a} 何も取り込んでいません。もう一度書き出してください。",
    "Event {a} of thread {b} is damaged in the file. {rescue}": "スレッド {b} のイベント {a} がファイル内で破損しています。{rescue}",
    "Event {a} of thread {b} is lost.": "スレッド {b} のイベント {a} は失われています。",
    "Thread {a} is lost.": "スレッド {a} は失われています。",
    "Thread {a} is not found by its name. {rescue}": "スレッド {a} が名前で見つかりません。{rescue}",
    "Thread number {a} cannot come from number {b}. {rescue}": "スレッド番号 {a} が番号 {b} に由来することはありえません。{rescue}",
    "The row of thread number {a} is damaged. {rescue}": "スレッド番号 {a} の行が破損しています。{rescue}",
    "The row of thread {a} is lost. {rescue}": "スレッド {a} の行が失われています。{rescue}",
    "The list of threads is damaged: some are missing. {rescue}": "スレッドの一覧が破損し、一部が失われています。{rescue}",
    "The names of spaces are damaged, so no thread is found. {rescue}": "スペースの名前が破損しているため、スレッドが見つかりません。{rescue}",
    "What is kept under {a} is damaged. {rescue}": "{a} の内容が破損しています。{rescue}",
    "What the list of threads shows of {a} is damaged. {rescue}": "一覧にある {a} の情報が破損しています。{rescue}",
    "The bytes kept under {a} are damaged, so nothing can share them. {rescue}": "{a} のバイト列が破損しているため共有できません。{rescue}",
    "{a} is damaged: a row cannot be read ({b}). {rescue}": "{a} は破損しています。読めない行があります（{b}）。{rescue}",
    "{a} is a folder. Name a file in it.": "{a} はフォルダーです。中のファイルを指定してください。",
    "{a} is not an ordinary file. Name one.": "{a} は通常のファイルではありません。通常のファイルを指定してください。",
    "{a} is a link that leads nowhere. Remove it, or make the file it names.": "{a} は行き先のないリンクです。削除するか、指すファイルを作ってください。",
    "There is no store at {a}. Check the path, or allow it to be made.": "{a} にストアはありません。パスを確認してください。",
    "There is no folder {a} to make a store in. Make the folder first.": "ストアを作るフォルダー {a} がありません。先に作ってください。",
    "{a} cannot be looked at ({b}). Check the path and its permissions.": "{a} を調べられません（{b}）。パスと権限を確認してください。",
    "{a} has {b} names (hard links), which would damage it. Keep one of them.": "{a} には {b} 個の名前（ハードリンク）があり、破損の原因になります。一つだけ残してください。",
    "{a} may not be read by this user. Check its permissions.": "{a} を読む権限がありません。権限を確認してください。",
    "{a} cannot be read ({b}). Check the disk.": "{a} を読めません（{b}）。ディスクを確認してください。",
    "{a} is not a contextfold store, or its first page is damaged. Choose another path.": "{a} は contextfold のストアではないか、先頭ページが破損しています。別のパスを選んでください。",
    "{a} is another program's database. Choose another path.": "{a} は別のプログラムのデータベースです。別のパスを選んでください。",
    "{a} does not have the tables contextfold makes ({b}). It was changed by something else.": "{a} には contextfold の表がありません（{b}）。ほかのものに変更されています。",
    "{a} has format {b}, and this contextfold knows up to {c}. Update contextfold.": "{a} の形式は {b} ですが、この contextfold が扱えるのは {c} までです。更新してください。",
    "{a} has the older format {b}. Open it once without read_only=True.": "{a} は古い形式 {b} です。一度 read_only=True なしで開いてください。",
    "{a} is on a network file system ({b}), where SQLite loses data. Use a local disk.": "{a} はネットワークファイルシステム（{b}）上にあり、SQLite がデータを失います。ローカルディスクを使ってください。",
    "{a} does not allow new files. Check its permissions.": "{a} に新しいファイルを作れません。権限を確認してください。",
    "{a} cannot be made ({b}). Check the path and the disk.": "{a} を作れません（{b}）。パスとディスクを確認してください。",
    "{a} cannot be made ({b}). Choose another name.": "{a} を作れません（{b}）。別の名前を選んでください。",
    "{a} cannot be made ({b}). Remove it, or choose another folder.": "{a} を作れません（{b}）。削除するか、別のフォルダーを選んでください。",
    "{a} cannot be written to. Check the file, its folder and how the disk is mounted.": "{a} に書き込めません。ファイル、フォルダー、ディスクのマウント方法を確認してください。",
    "{a} exists. A backup is never written over something: choose another name.": "{a} はすでにあります。バックアップは上書きしません。別の名前を選んでください。",
    "The copy of {a} does not verify ({b}). Run verify on the store.": "{a} のコピーを検証できません（{b}）。ストアを verify してください。",
    "{a}-wal belongs to another file. Nothing was changed: move it away, or restore a backup of both.": "{a}-wal は別のファイルのものです。何も変更していません。移すか、両方のバックアップを戻してください。",
    "No room left on the disk for {a}. Free some and try again.": "{a} のためのディスクの空きがありません。空けてからやり直してください。",
    "There is no room left for {a}; what is kept can be read. Make room to keep more.": "{a} の空きがありません。保存済みの内容は読めます。保存を続けるには空きを作ってください。",
    "The store is gone. Put it back, or restart the gateway to begin a new one: {told}": "ストアがなくなりました。元に戻すか、ゲートウェイを再起動して新しく始めてください: {told}",
    "The store failed and is opened again as soon as it can be used: {told}": "ストアに障害があり、使えるようになりしだい開き直します: {told}",
    "The store is gone. Put it back, or restart the gateway to begin a new one: {a}": "ストアがなくなりました。元に戻すか、ゲートウェイを再起動して新しく始めてください: {a}",
    "The store failed and is opened again as soon as it can be used: {a}": "ストアに障害があり、使えるようになりしだい開き直します: {a}",
    "This request has {a} messages, more than the {b} that are read.": "この要求には {a} 件のメッセージがあり、読める上限 {b} 件を超えています。",
    "This request brings {a} messages that were not seen before, more than the {b} that are kept at once. Send fewer, or set gateway.most_new_messages.": "この要求には初めてのメッセージが {a} 件あり、一度に残せる {b} 件を超えています。減らすか、gateway.most_new_messages を設定してください。",
    "The gateway is closing.": "ゲートウェイは終了中です。",
    "No write was committed for {a} seconds.": "{a} 秒間、書き込みが完了していません。",
    "{a} was closed. Open the store again.": "{a} は閉じられています。開き直してください。",
    "{a} was changed while it was read. Read again.": "{a} は読んでいる間に変更されました。読み直してください。",
    "{a} was opened by the process this one was forked from. Open the store here.": "{a} は親プロセスが開いたものです。ここで開き直してください。",
    "{a} was opened with read_only=True. Open it without that to write.": "{a} は読み取り専用で開かれています。書くには read_only なしで開いてください。",
    "{a} was deleted or replaced while it was open, so nothing more is written to it. Put the file back, or open the store again to begin a new one.": "{a} は開いている間に削除または置き換えられたため、もう書き込みません。ファイルを戻すか、開き直してください。",
    "A write to {a} failed earlier ({b}), so no more are taken: what the disk kept is not certain. Check the disk, then open the store again; nothing acknowledged is lost by that.": "{a} への書き込みが失敗したため（{b}）、これ以上は受け付けません。ディスクを確認して開き直してください。確認済みのものは失われません。",
    "An earlier write of this batch failed ({a}), so none of it is kept.": "このまとまりの書き込みが失敗したため（{a}）、すべて取り消しました。",
    "A {a} event holds a text that has no UTF-8 ({b}). Escape it first.": "{a} イベントに UTF-8 にできない文字があります（{b}）。先にエスケープしてください。",
    "An event's time must be a finite number, not {a}. Pass seconds since 1970.": "イベントの時刻 {a} は有限の数ではありません。1970 年からの秒で指定してください。",
    "The key {a} stands twice in one append. Give each message its own key.": "キー {a} が一度の追加に二回あります。メッセージごとに別のキーを付けてください。",
    "The key {a} was used before for something else (near seq {b}). Use a new key for a new message.": "キー {a} は別のもの（seq {b} 付近）に使われています。新しいメッセージには新しいキーを使ってください。",
    "A message without a key came with a key that was used before, in an append without that message. Append the message alone, or give it its own key.": "以前に使ったキーと一緒に、キーのない新しいメッセージが渡されました。別に追加するか、キーを付けてください。",
    "The bodies are erased, but older pictures of them stand in {a}-wal as long as another process reads there. Forget them again when it is done.": "本文は消去しましたが、別のプロセスが読んでいる間は {a}-wal に古い像が残ります。終わったら再び消去してください。",
    "This file also keeps {a}, computed from the same messages, and this process cannot erase there. Open the store with it and forget again.": "このファイルには同じメッセージから作った {a} もあり、このプロセスでは消せません。それと共に開いて、再び消去してください。",
    "Line {a} cannot be taken: {b}. Nothing was imported; export the thread again.": "{a} 行目を取り込めません: {b}。何も取り込んでいません。もう一度書き出してください。",
    "Line {a} is longer than {b} bytes. It was not written by contextfold.": "{a} 行目が {b} バイトを超えています。contextfold が書いたものではありません。",
    "The file ends before its last line: it was cut short. Export the thread again.": "ファイルが途中で切れています。スレッドをもう一度書き出してください。",
    "This is not an exported thread: its first line names none. Choose another file.": "書き出したスレッドではありません（最初の行に名前がありません）。別のファイルを選んでください。",
    "This thread was written in format {a}; this contextfold knows {b}. Update it.": "このスレッドの形式は {a} ですが、この contextfold が扱えるのは {b} です。更新してください。",
    # -- settings and models
    "{a}: unknown key {b}; did you mean {c}? Known: {d}.": "{a}: 知らないキー {b} です。{c} のことですか。あるもの: {d}。",
    "{a}: unknown key {b}. Known: {c}.": "{a}: 知らないキー {b} です。あるもの: {c}。",
    "{a}: gateway must be a table, as in [gateway].": "{a}: gateway は [gateway] のような表にしてください。",
    "{a}: {b} must be a table, as in [{c}.example].": "{a}: {b} は [{c}.example] のような表にしてください。",
    "{a}: {b} is {c}; it must be a text in quotes.": "{a}: {b} が {c} です。引用符で囲んだ文字列にしてください。",
    "{a}: {b} is {c}; it must be the path of a file.": "{a}: {b} が {c} です。ファイルのパスにしてください。",
    "{a}: max_input_tokens is {b}; it must be a whole number above zero.": "{a}: max_input_tokens が {b} です。1 以上の整数にしてください。",
    "{a} must be a table of settings.": "{a} は設定の表にしてください。",
    "{a}={b} and {c}={d} set the same limit and disagree. Keep one.": "{a}={b} と {c}={d} は同じ上限の設定で、食い違っています。一つだけ残してください。",
    "{a} is {b}; it must be from {c} to {d} percent{e}.": "{a} が {b} です。{c} から {d} パーセントにしてください{e}。",
    "{a} is {b}; it must be a whole number of tokens above zero.": "{a} が {b} です。1 以上のトークン数にしてください。",
    "{a} is {b}; it must be above zero.": "{a} が {b} です。0 より大きくしてください。",
    "keep_messages is {a}; it must be 0 or more, or -1 to inherit.": "keep_messages が {a} です。0 以上か、継承の -1 にしてください。",
    "target_reduction is {a}; it must be between 0 and 1, or -1 to inherit.": "target_reduction が {a} です。0 から 1 の間か、継承の -1 にしてください。",
    "A window of {a} tokens has room for nothing. Use the model's input tokens.": "{a} トークンのウィンドウには何も入りません。モデルの入力トークン数を指定してください。",
    "A limit of {a} tokens leaves room for nothing. Use 1 or more.": "上限 {a} トークンには何も入りません。1 以上にしてください。",
    "There is no profile {a}; did you mean {b}? Known: {c}.": "プロファイル {a} はありません。{b} のことですか。あるもの: {c}。",
    "There is no profile {a}. Known: {b}.": "プロファイル {a} はありません。あるもの: {b}。",
    "There is no policy {a}; did you mean {b}? Known: {c}.": "ポリシー {a} はありません。{b} のことですか。あるもの: {c}。",
    "There is no policy {a}. Known: {b}.": "ポリシー {a} はありません。選べるもの: {b}。",
    "{a} cannot be read as a catalogue: {b}. It is a JSON object with a list of `models`, like ours.": "{a} をカタログとして読めません: {b}。`models` の一覧を持つ JSON オブジェクトにしてください。",
    "{a} cannot be read as litellm's price file: {b}.": "{a} を litellm の価格ファイルとして読めません: {b}。",
    "{a} cannot be read: {why}. Mend the file, or name another.": "{a} を読めません: {why}。ファイルを直すか、別のファイルを指定してください。",
    "These prices come from an extra that is not here: pip install 'contextfold[prices]'": "この価格には追加パッケージが必要です: pip install 'contextfold[prices]'",
    # -- recordings
    "There is no file {a}. Check the path.": "ファイル {a} はありません。パスを確認してください。",
    "There is no {a} in {b}. Name the directory of a task.": "{b} に {a} はありません。タスクのディレクトリを指定してください。",
    "{a} is no list of JSON objects, so it is no file of Roo Code.": "{a} は JSON オブジェクトの一覧ではないため、Roo Code のファイルではありません。",
    "Entry {a} of the task is {why}. Repair the file, or leave the entry out.": "タスクの項目 {a} を読めません（{why}）。ファイルを直すか、その項目を除いてください。",
    "The reader {a} ({b}) cannot be loaded: {c}. Repair or remove its package.": "リーダー {a}（{b}）を読み込めません: {c}。パッケージを直すか、削除してください。",
}  # fmt: skip

_RESCUE = (
    "Restore a backup, or save what verifies with `contextfold doctor --rescue NEW.db`; other threads can be read."
)
_FIELDS: dict[str, str] = {
    _RESCUE: "バックアップを戻すか、`contextfold doctor --rescue NEW.db` で検証できる分を救出してください。ほかのスレッドは読めます。",
    "none": "なし",
    "standard input": "標準入力",
    "very many": "非常に多く",
    "bytes": "バイト",
    "images": "枚の画像",
}
_PARTS: dict[str, str] = {
    "the live request": "進行中の依頼",
    "pins and system messages": "ピンとシステムメッセージ",
    "what is kept before it": "その前に残すもの",
    "system": "システムプロンプト",
    "tools": "ツール定義",
    "the request by itself": "リクエスト自体",
    "what its provider adds": "プロバイダーが加える分",
    "room for the answer": "回答用の余地",
    "the shortest turn": "最短の一往復",
}


def advice_in(language: str, sentence: str) -> str:
    """What `validate` or `verify` says about something, in this language."""
    return (_found(sentence, advice_ja.ADVICE) or sentence) if language == "ja" else sentence


def label_in(language: str, phrase: str) -> str:
    """A label or a reason that a command shows, in this language."""
    return (labels_ja.LABELS.get(phrase) or _found(phrase, labels_ja.LABELS) or phrase) if language == "ja" else phrase


def error_in(language: str, sentence: str) -> str:
    """An error's sentence in this language."""
    return in_japanese(sentence) if language == "ja" else sentence


def in_japanese(sentence: str) -> str:
    """The same sentence in Japanese; as it is where nobody translated it."""
    return _found(sentence, _SENTENCES) or _found(sentence, errors_ja.SENTENCES) or sentence


def _found(sentence: str, sentences: Mapping[str, str]) -> str:
    for english, japanese in sentences.items():
        values = _values(_pieces(english), sentence)
        if values is not None and ("told" not in values or in_japanese(values["told"]) != values["told"]):
            return japanese.format(**{name: _field(name, value) for name, value in values.items()})
    return ""


def _field(name: str, value: str) -> str:
    """What a field holds: a list of parts, an error inside of this one, a reason, or a name that stays as it is."""
    match name:
        case "parts":
            named = [part.rpartition(" ") for part in value.split(", ")]
            return "、".join(f"{_PARTS.get(part, part)} {size}" for part, _, size in named)
        case "told":
            return in_japanese(value)
        case "label" | "kind" | "what":
            return label_in("ja", value)
        case "said" | "why":
            return errors_ja.FIELDS.get(value) or _found(value, errors_ja.PHRASES) or value
        case _:
            return _FIELDS.get(value) or errors_ja.FIELDS.get(value, value)


@cache
def _pieces(english: str) -> tuple[tuple[str, str], ...]:
    """A sentence cut at its fields: each field with the words before it, the last words under no name."""
    cut = re.split(r"\{(\w+)\}", english)
    return tuple(zip(cut[::2], [*cut[1::2], ""], strict=True))


def _values(pieces: tuple[tuple[str, str], ...], sentence: str) -> Mapping[str, str] | None:
    """What stands in the fields; None where this is another sentence. One look from left to right."""
    values: dict[str, str] = {}
    first, last = pieces[0][0], pieces[-1][0]
    if not sentence.startswith(first) or not sentence.endswith(last):
        return None
    at, end = len(first), len(sentence) - len(last)
    for (_, name), (following, _) in pairwise(pieces):
        is_last = following is last and name == pieces[-2][1]
        stop = end if is_last else sentence.find(following, at, end)
        if stop < at:
            return None
        values[name] = sentence[at:stop]
        at = stop + len(following)
    return values if at <= len(sentence) and (len(pieces) > 1 or sentence == first) else None
