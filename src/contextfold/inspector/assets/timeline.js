// A list of any length: only rows in sight are elements, and only pages around them are in memory.

import { get, of } from "./api.js";
import { el, fill, k, n } from "./dom.js";
import { messageDetail, standInDetail } from "./message.js";
import { known, t } from "./words.js";

const ROW = 34, PAGE = 100, MOST_PAGES = 24, SPARE = 14;
const LETTERS = { user: "U", assistant: "A", tool: "T", system: "S", note: "N" };
const SIGNS = { rewound: "↶", checkpointed: "⚑", noted: "✎", sent: "↑", measured: "$", pinned: "◆", unpinned: "◇", unfolded: "▾", folded: "▸", "tools-projected": "⚒" };
const QUIET = new Set(["appended", "attached", "noted", "sent", "measured", "checkpointed", "tools-projected"]);

export class Timeline {
  constructor(thread, acts) {
    this.thread = thread; this.acts = acts; this.listing = "said";
    this.openFolds = new Set(); this.opened = new Map(); // what is unrolled: key, its extra height
    this.pages = new Map(); this.asked = new Map(); this.nodes = new Map();
    this.total = 0; this.at = -1; this.generation = 0; this.tallest = 1;
    this.space = el("div", { class: "space", role: "list" });
    this.element = el("div", { class: "list", tabindex: 0, role: "region", "aria-label": t("conversation") }, this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.sizes = new ResizeObserver((entries) => this.grown(entries));
    this.sizes.observe(this.element);
  }

  async start(seq) {
    if (seq) { await this.load(0); await this.jump(seq); return; }
    const newest = await get(of(this.thread, "/newest"), { limit: PAGE }), page = { ...newest, total: newest.rows.length };
    this.put([0], [page], true);
    this.element.scrollTop = this.element.scrollHeight;
    this.draw();
    if (!newest.is_whole) { this.rest = this.complete(); if (!newest.rows.length) await this.rest; }
  }
  /** A long list begins with its end; the rest comes as soon as the session is read, and what is in sight stays there. */
  async complete() {
    const generation = this.generation, { total } = await this.page(0, 1);
    const last = Math.floor(Math.max(0, total - 1) / PAGE), pages = range(Math.max(0, last - 1), last), answers = await Promise.all(pages.map((page) => this.page(page)));
    if (generation !== this.generation) return;
    const below = this.space.offsetHeight - this.element.scrollTop, more = answers[0].total - this.total;
    if (this.at >= 0) this.at += more;
    this.put(pages, answers, true);
    this.element.scrollTop = this.space.offsetHeight - below;
    this.draw();
  }
  stop() { this.sizes.disconnect(); this.generation++; }

  async show(listing) {
    await this.rest;
    this.listing = listing; this.opened.clear(); this.at = -1;
    await this.again(true);
    this.element.scrollTop = 0; this.draw();
  }

  // -- pages ------------------------------------------------------------------------------------------------------------
  row(index) { return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE]; }
  key(row) { return row.kind === "fold" ? `f${row.seq}` : `m${row.seq}`; }

  async load(page) {
    if (this.asked.has(page)) return this.asked.get(page);
    const asked = this.fetch(page, this.generation).finally(() => this.asked.delete(page));
    this.asked.set(page, asked);
    return asked;
  }
  page(page, limit = PAGE) { return get(of(this.thread, "/rows"), { listing: this.listing, open: [...this.openFolds].join(","), start: page * PAGE, limit }); }
  async fetch(page, generation) {
    const answer = await this.page(page);
    if (generation !== this.generation) return;
    this.put([page], [answer], false);
    this.draw();
  }
  put(pages, answers, anew) {
    if (anew) { this.pages.clear(); for (const [index, node] of this.nodes) this.forgetNode(index, node); }
    answers.forEach((answer, at) => {
      this.pages.delete(pages[at]); this.pages.set(pages[at], answer.rows);
      this.total = answer.total; this.last = answer.last;
      for (const row of answer.rows) this.tallest = Math.max(this.tallest, row.tokens ?? 0);
    });
    while (this.pages.size > MOST_PAGES) this.pages.delete(this.pages.keys().next().value);
    this.settle();
  }
  /** Ask again for what is in sight, and swap it in at once; the rest is asked for when it comes into sight. */
  async again(everything) {
    await this.rest;
    const generation = ++this.generation;
    this.asked.clear();
    const [first, last] = this.range(), before = this.total, stays = this.isAtEnd();
    const pages = everything ? range(Math.floor(first / PAGE), Math.floor(Math.max(first, last) / PAGE)) : range(Math.floor(Math.max(0, before - 1) / PAGE), Math.floor(Math.max(0, before - 1) / PAGE));
    const answers = await Promise.all(pages.map((page) => this.page(page)));
    if (generation !== this.generation) return;
    this.put(pages, answers, everything);
    if (stays) this.element.scrollTop = this.element.scrollHeight;
    this.draw();
  }
  heard(kinds) {
    return this.again(!kinds.every((kind) => QUIET.has(kind)));
  }

  // -- places -----------------------------------------------------------------------------------------------------------
  settle() {
    this.extras = [];
    if (this.opened.size) for (const [page, rows] of [...this.pages].sort((a, b) => a[0] - b[0])) rows.forEach((row, at) => { const px = this.opened.get(this.key(row)); if (px) this.extras.push([page * PAGE + at, px]); });
    this.space.style.height = `${this.offset(this.total)}px`;
  }
  offset(index) { let px = index * ROW; for (const [at, extra] of this.extras ?? []) { if (at >= index) break; px += extra; } return px; }
  indexAt(y) {
    let passed = 0;
    for (const [at, extra] of this.extras ?? []) { if ((at + 1) * ROW + passed > y) break; if ((at + 1) * ROW + passed + extra > y) return at; passed += extra; }
    return Math.max(0, Math.floor((y - passed) / ROW));
  }
  range() {
    const top = this.element.scrollTop, tall = this.element.clientHeight || 600;
    return [Math.max(0, this.indexAt(top) - SPARE), Math.min(this.total - 1, this.indexAt(top + tall) + SPARE)];
  }
  isAtEnd() { const list = this.element; return this.total > 0 && list.scrollTop > 0 && list.scrollTop + list.clientHeight > list.scrollHeight - ROW; }

  // -- drawing ----------------------------------------------------------------------------------------------------------
  draw() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    const [first, last] = this.range();
    for (const [index, node] of this.nodes) if (index < first || index > last) this.forgetNode(index, node);
    for (let index = first; index <= last; index++) {
      const row = this.row(index), known = this.nodes.get(index);
      if (!row) this.load(Math.floor(index / PAGE));
      if (!known || (row && known.row !== row)) {
        const made = row ? this.made(row, index) : ghost();
        made.row = row;
        if (known) { const focused = known === document.activeElement; this.sizes.unobserve(known); known.replaceWith(made); if (focused) made.focus({ preventScroll: true }); } else this.space.append(made);
        this.nodes.set(index, made);
        if (row && this.opened.has(this.key(row))) { this.unroll(made, row); this.sizes.observe(made); }
      }
      const node = this.nodes.get(index);
      node.style.transform = `translateY(${this.offset(index)}px)`;
      node.classList.toggle("at", index === this.at);
    }
    for (const page of [1, 2].flatMap((far) => [Math.floor(first / PAGE) - far, Math.floor(last / PAGE) + far])) if (page >= 0 && page * PAGE < this.total && !this.pages.has(page)) this.load(page);
    this.isDrawing = false;
    this.element.classList.toggle("empty", !this.total);
    if (!this.total) fill(this.space, el("p", { class: "soft", style: { padding: "10px 18px" } }, t("none")));
    else this.space.querySelector(":scope > p")?.remove();
  }
  forgetNode(index, node) { this.sizes.unobserve(node); node.remove(); this.nodes.delete(index); }

  made(row, index) {
    const kind = row.kind === "fold" ? "folding" : row.kind === "message" || row.kind === "attachment" ? "" : "event";
    const classes = ["row", kind, row.state === "folded" && "dim", row.state === "abandoned" && "dim gone"].filter(Boolean).join(" ");
    const line = kind === "folding" ? this.card(row) : kind === "event" ? this.event(row) : this.message(row);
    const node = el("div", { class: classes, role: "listitem", tabindex: -1, "aria-posinset": index + 1, "aria-setsize": this.total, "data-seq": row.seq, "data-kind": row.kind }, line);
    line.addEventListener("click", (given) => { if (!given.target.closest("button, a")) { this.select(index); this.toggle(index); } });
    node.addEventListener("focus", () => { if (this.at !== index) { this.at = index; this.draw(); } });
    return node;
  }
  message(row) {
    const chips = [row.is_pinned && chip(`◆ ${t("pinned")}`, "good"), row.state === "abandoned" && chip(t("left_branch")), row.cleared?.length && chip(t("cleared"), "amber"), row.is_error && chip(t("error"), "bad"), row.images && chip(`${t("image")} ${row.images > 1 ? row.images : ""}`), row.reasoning && chip(t("reasoning"))];
    const names = [...(row.calls ?? []).map((name) => `→ ${name || "?"}`), ...(row.results ?? []).map((name) => `← ${name || "?"}`)].slice(0, 4).join("  ");
    const isCode = row.who === "tool" || row.text?.startsWith("{");
    const width = Math.min(54, 3 + 50 * Math.sqrt((row.tokens ?? 0) / Math.max(200, this.tallest)));
    return el("div", { class: "line" }, el("span", { class: "seq" }, row.seq), el("span", { class: "who", title: t(`who_${row.who}`), style: { background: `var(--${row.who})` } }, el("span", { "aria-hidden": true }, LETTERS[row.who] ?? "·"), el("span", { class: "sr" }, t(`who_${row.who}`))),
      el("span", { class: "txt" }, names && el("strong", {}, `${names}  `), isCode ? el("code", {}, row.text) : row.text, chips), el("span", { class: "tok" }, el("i", { style: { width: `${width}px`, background: `var(--${row.who})`, opacity: row.state === "visible" ? 0.75 : 0.35 } }), k(row.tokens ?? 0)));
  }
  card(row) {
    const facts = row.facts, isOpen = this.openFolds.has(row.seq);
    return el("div", { class: "line" }, el("span", { class: "seq" }, row.seq),
      el("button", { class: "who", type: "button", tabindex: -1, "aria-expanded": isOpen ? "true" : "false", "aria-label": `${isOpen ? t("closeFold") : t("openFold")} (${row.seq})`, onclick: () => this.openFold(row.seq) }, isOpen ? "▾" : "▸"),
      el("span", { class: "txt" }, el("strong", {}, `${t(`f_${facts.kind}`)} `), t("card", { messages: n(facts.messages), hidden: k(facts.hidden), tokens: k(row.tokens) }), facts.reason && ` · ${facts.reason}`),
      el("button", { type: "button", tabindex: -1, onclick: () => this.acts.unfold(row.seq) }, t("unfold")));
  }
  event(row) {
    const said = known(`e_${row.kind}`) ? t(`e_${row.kind}`, Object.fromEntries(Object.entries(row.facts ?? {}).map(([name, value]) => [name, typeof value === "number" ? n(value) : name === "kind" ? t(`f_${value}`) : value]))) : row.kind;
    const back = row.kind === "checkpointed" && el("button", { type: "button", tabindex: -1, onclick: () => this.acts.rewind({ to: row.seq }, row.facts?.files) }, t("rewindCheckpoint"));
    return el("div", { class: "line" }, el("span", { class: "seq" }, row.seq), el("span", { class: "who", "aria-hidden": true }, SIGNS[row.kind] ?? "·"), el("span", { class: "txt" }, said, row.text && ` · ${row.text}`, row.facts?.reason && ` · ${row.facts.reason}`), back || el("span"));
  }
  unroll(node, row) {
    if (node.querySelector(".detail")) return;
    const detail = el("div", { class: "detail" }, el("span", { class: "soft" }, t("loading")));
    node.append(detail);
    (row.kind === "fold" ? standInDetail : messageDetail)(detail, this.thread, row, this.acts);
  }
  grown(entries) {
    let changed = false;
    for (const { target } of entries) {
      if (target === this.element) { changed = true; continue; }
      const row = target.row, px = Math.max(0, target.getBoundingClientRect().height - ROW);
      if (row && this.opened.has(this.key(row)) && Math.abs(this.opened.get(this.key(row)) - px) > 0.5) { this.opened.set(this.key(row), px); changed = true; }
    }
    if (changed) { this.settle(); this.draw(); }
  }

  // -- what people do -----------------------------------------------------------------------------------------------------
  select(index, focus = true) {
    this.at = Math.max(0, Math.min(this.total - 1, index));
    const top = this.offset(this.at), list = this.element;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    this.draw();
    if (focus) this.nodes.get(this.at)?.focus({ preventScroll: true });
  }
  /** The next or previous row; the first step goes to the uppermost one in sight. */
  step(by) { this.select(this.at < 0 ? Math.ceil(this.element.scrollTop / ROW) : this.at + by); }
  toggle(index) {
    const row = this.row(index), node = this.nodes.get(index);
    if (!row || !node || !(row.kind === "fold" || row.kind === "message" || row.kind === "attachment")) return;
    if (row.kind === "attachment") return;
    const key = this.key(row);
    if (this.opened.has(key)) { this.opened.delete(key); this.sizes.unobserve(node); node.querySelector(".detail")?.remove(); } else { this.opened.set(key, 1); this.unroll(node, row); this.sizes.observe(node); }
    this.settle(); this.draw();
  }
  async openFold(seq) {
    if (!this.openFolds.delete(seq)) this.openFolds.add(seq);
    await this.again(true);
  }
  async jump(seq) {
    await this.rest;
    const ask = () => get(of(this.thread, "/place"), { seq, listing: this.listing, open: [...this.openFolds].join(",") });
    let place = await ask();
    if (place.fold) { this.openFolds.add(place.fold); await this.again(true); place = await ask(); }
    this.element.scrollTop = Math.max(0, this.offset(place.index) - this.element.clientHeight / 3);
    this.draw();
    await this.load(Math.floor(place.index / PAGE));
    this.select(place.index);
    const row = this.row(place.index);
    if (row?.seq === seq && !this.opened.has(this.key(row))) this.toggle(place.index);
  }
  keyed(event) {
    const row = this.row(this.at);
    switch (event.key) {
      case "j": case "ArrowDown": if (event.key === "ArrowDown" && !this.element.contains(document.activeElement)) return false; this.step(1); return true;
      case "k": case "ArrowUp": if (event.key === "ArrowUp" && !this.element.contains(document.activeElement)) return false; this.step(-1); return true;
      case "Enter": case "o": if (!row || document.activeElement?.closest("button, a")) return false; if (row.kind === "fold" && event.key === "o") this.openFold(row.seq); else this.toggle(this.at); return true;
      case "G": case "End": this.select(this.total - 1); this.element.scrollTop = this.element.scrollHeight; return true;
      case "g": case "Home": Promise.resolve(this.rest).then(() => this.select(0)); return true;
      case "p": if (row?.kind === "message") this.acts[row.is_pinned ? "unpin" : "pin"](row.seq); return true;
      case "u": if (row?.kind === "fold") this.acts.unfold(row.seq); return true;
      default: return false;
    }
  }
}

const range = (first, last) => Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
const chip = (words, kind = "") => el("span", { class: `chip ${kind}` }, words);
const ghost = () => el("div", { class: "row ghost" }, el("div", { class: "line" }, el("span"), el("span"), el("span", { class: "txt" })));
