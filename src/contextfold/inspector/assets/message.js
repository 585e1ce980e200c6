// One message unrolled: its pieces, a call beside its result, diffs in colour, and what can be done with it.

import { get, link, of } from "./api.js";
import { clock, el, fill, n, plain } from "./dom.js";
import { state } from "./api.js";
import { t } from "./words.js";

export async function messageDetail(into, thread, row, acts, whole = false) {
  let shown;
  try { shown = await get(of(thread, `/messages/${row.seq}`), { whole }); } catch (error) { fill(into, el("p", { class: "bad" }, error.message)); return; }
  const act = (words, run) => el("button", { type: "button", onclick: run }, words);
  const raw = el("pre", { hidden: true, tabindex: 0 });
  const buttons = el("div", { class: "acts" },
    shown.request && act(t("sawIt"), () => acts.saw(shown.request)), act(t(shown.is_pinned ? "unpin" : "pin"), () => acts[shown.is_pinned ? "unpin" : "pin"](row.seq)),
    shown.state !== "abandoned" && act(t("rewindTo"), () => acts.rewind({ before: row.seq })), act(t("forkHere"), () => acts.fork(row.seq)), act(t("forget"), () => acts.forget(row.seq)),
    shown.raw !== null && act(t("raw"), () => { raw.textContent ||= plain(shown.raw); raw.hidden = !raw.hidden; }));
  const cut = shown.pieces.some((piece) => (piece.length ?? 0) > (piece.text ?? "").length && piece.kind !== "image");
  fill(into, buttons, shown.pieces.map((piece) => pieceOf(piece, thread, row.seq)), cut && !whole && act(t("whole"), () => messageDetail(into, thread, row, acts, true)), raw,
    el("div", { class: "soft" }, `${clock(shown.at, state.language)} · ${shown.dialect} · ${n(shown.tokens)} ${t("tokens")}`));
}

export async function standInDetail(into, thread, row) {
  try {
    const shown = await get(of(thread, `/folds/${row.seq}`));
    const blocks = shown.text ? [shown.text] : shown.blocks;
    fill(into, blocks.map((words) => el("pre", { tabindex: 0 }, words)));
  } catch (error) { fill(into, el("p", { class: "bad" }, error.message)); }
}

function pieceOf(piece, thread, seq) {
  const instead = piece.fold && el("div", { class: "instead" }, el("b", {}, `${t("instead")} (${piece.fold}): `), piece.instead || "—");
  return el("div", { class: "piece" }, instead, shapeOf(piece, thread, seq));
}

function shapeOf(piece, thread, seq, isResult = false) {
  switch (piece.kind) {
    case "text": return words(piece.text, isResult);
    case "reasoning": return el("div", { class: "thought words", tabindex: 0 }, piece.text || t("reasoning"));
    case "call": return el("div", { class: "box" }, el("header", {}, el("b", {}, `→ ${piece.name}`), el("span", { class: "soft" }, t("call"))), el("pre", { tabindex: 0 }, pretty(piece.text)),
      el("header", {}, el("b", {}, "←"), el("span", { class: piece.is_error ? "bad" : "soft" }, piece.other ? `${piece.is_error ? t("error") : t("answered")} · ${piece.other}` : t("unanswered"))), (piece.answer ?? []).map((inner) => el("div", { class: "inner" }, shapeOf(inner, thread, piece.other ?? seq, true))));
    case "result": return el("div", { class: "box" }, el("header", {}, el("b", {}, `← ${piece.name || t("answered")}`), piece.is_error && el("span", { class: "bad" }, t("error"))), (piece.answer ?? []).map((inner) => el("div", { class: "inner" }, shapeOf(inner, thread, seq, true))));
    case "image": return piece.image === undefined || piece.image === null ? el("p", { class: "soft" }, `[${t("image")} ${piece.media_type ?? ""} ${piece.text ?? ""}]`) : el("img", { class: "picture", loading: "lazy", alt: `${t("image")} ${seq}`, src: link(of(thread, `/messages/${seq}/pictures/${piece.image}`)) });
    case "document": return el("div", { class: "box" }, el("header", {}, el("b", {}, piece.name || "document"), el("span", { class: "soft" }, piece.media_type)), piece.text && el("pre", { tabindex: 0 }, piece.text));
    default: return el("div", { class: "box" }, el("header", {}, el("b", {}, piece.name || piece.kind)), el("pre", { tabindex: 0 }, pretty(piece.text)));
  }
}

const DIFF = /^(diff --git |--- |\+\+\+ |@@ )/m;
const CODE = /^(\s{2,}\S|\s*\d+[:|\t ]|.*[;{}]\s*$|(def|class|import|from|function|const|let|SELECT|CREATE|#include|\$ )\b)/m;

export function words(text = "", isResult = false) {
  if (DIFF.test(text)) {
    return el("pre", { tabindex: 0 }, text.split("\n").map((line) => {
      const kind = line.startsWith("@@") || line.startsWith("diff ") ? "hunk" : line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "";
      return [kind ? el("span", { class: kind }, line) : line, "\n"];
    }));
  }
  const isCode = isResult || (text.includes("\n") && CODE.test(text));
  return isCode ? el("pre", { tabindex: 0 }, text) : el("div", { class: "words" }, text);
}

export function pretty(json = "") {
  try { return JSON.stringify(JSON.parse(json), null, 2); } catch { return json; }
}
