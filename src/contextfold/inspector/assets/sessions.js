// The list of sessions, and what a search in all of them found.

import { get, of, state } from "./api.js";
import { el, fill, k, money, n, percent, when } from "./dom.js";
import { spark } from "./charts.js";
import { known, t } from "./words.js";

export function address(thread, rest = "") { return `#/t/${encodeURIComponent(thread)}${rest}`; }

export class Sessions {
  constructor(main) { this.main = main; this.rows = new Map(); this.digests = new Map(); this.archived = false; this.after = null; this.wanted = new Set(); this.left = new AbortController(); }

  async show() {
    this.tiles = el("section", { class: "card tiles" });
    this.body = el("tbody");
    this.more = el("button", { type: "button", hidden: true, onclick: () => this.page() }, t("more"));
    const column = (words, kind = "") => el("th", { class: kind, scope: "col" }, words);
    const choose = (archived) => el("button", { type: "button", "aria-pressed": String(this.archived === archived), onclick: () => { this.archived = archived; this.show(); } }, t(archived ? "archived" : "active"));
    this.table = el("table", { class: "sessions" }, el("caption", {}, t("sessions")), el("thead", {}, el("tr", {}, column(t("session")), column(t("model"), "hide-m"), column(t("messages"), "num hide-s"), column(t("context")), column(t("over"), "hide-m"), column(t("folds"), "num hide-s"), column(t("cost"), "num"), column(t("activity"), "num hide-s"))), this.body);
    fill(this.main, el("div", { class: "head" }, el("h1", {}, t("sessions")), el("span", { class: "grow" }), el("div", { class: "tabs", role: "group", "aria-label": t("show") }, choose(false), choose(true))), this.tiles, el("section", { class: "card" }, this.table, this.more));
    this.look = new IntersectionObserver((entries) => entries.forEach((entry) => { if (entry.isIntersecting) { this.look.unobserve(entry.target); this.wanted.add(entry.target.dataset.name); this.digest(); } }), { rootMargin: "200px" });
    this.rows.clear(); this.after = null;
    await this.page();
  }
  stop() { this.look?.disconnect(); this.left.abort(); }

  async page() {
    const page = await get("/threads", { archived: this.archived, after: this.after, limit: 50 });
    this.after = page.after;
    this.more.hidden = page.after === null;
    page.sessions.forEach((session) => this.rows.set(session.name, session));
    if (!this.rows.size) fill(this.body, el("tr", {}, el("td", { colspan: 8, class: "soft" }, t(this.archived ? "none" : "noneSessions"))));
    else this.arrange();
  }
  /** Families together: sub-agents and forks stand below the session they belong to, where that is in sight. */
  arrange() {
    const all = [...this.rows.values()], inner = new Map(), tops = [];
    for (const each of all) {
      const parent = each.parent || each.origin;
      if (parent && this.rows.has(parent) && parent !== each.name) (inner.get(parent) ?? inner.set(parent, []).get(parent)).push(each);
      else tops.push(each);
    }
    const ordered = [], seen = new Set();
    const put = (each, depth) => { if (seen.has(each.name)) return; seen.add(each.name); ordered.push([each, depth]); for (const child of inner.get(each.name) ?? []) put(child, 1); };
    tops.forEach((each) => put(each, 0));
    all.forEach((each) => put(each, 0));
    fill(this.body, ordered.map(([each, depth]) => this.row(each, depth)));
    this.body.querySelectorAll("tr").forEach((row) => { if (!this.digests.has(row.dataset.name) && !this.rows.get(row.dataset.name).is_forgotten) this.look.observe(row); });
    this.total();
  }
  row(session, depth) {
    const go = () => { location.hash = address(session.name); }, told = session.is_forgotten ? null : this.digests.get(session.name), saved = told?.full > 0 ? 1 - told.spent / told.full : 0;
    const relation = session.parent ? `${t("sub")} ${session.parent}` : session.origin ? `${t("forkOf")} ${session.origin}` : "";
    const fills = told && Math.min(1, told.used / Math.max(1, told.usable));
    return el("tr", { class: depth ? "inner" : "", "data-name": session.name, onclick: go },
      el("td", {}, el("div", {}, el("a", { class: "name", href: address(session.name), onclick: (event) => event.stopPropagation() }, session.name), " ", relation && el("span", { class: "chip" }, relation), session.is_forgotten && el("span", { class: "chip bad" }, t("forgotten"))), el("small", {}, told?.first ?? " ")),
      el("td", { class: "hide-m soft model" }, session.model), el("td", { class: "num hide-s" }, n(session.messages)),
      el("td", {}, told ? [el("div", { class: "bar thin", role: "img", "aria-label": `${t("context")}: ${percent(fills)}` }, el("i", { style: { width: percent(fills).replace(" ", ""), background: told.threshold && told.used >= told.threshold ? "var(--stand_in)" : "var(--user)" } }), told.threshold > 0 && el("u", { style: { left: `${(100 * told.threshold) / told.usable}%` } })), el("small", {}, `${k(told.used)} / ${k(told.usable)}`)] : ""),
      el("td", { class: "hide-m" }, told?.spark ? spark(told.spark) : ""), el("td", { class: "num hide-s" }, n(session.folds)),
      el("td", { class: "num" }, told ? [told.requests ? money(told.spent ?? 0, told.unit) : "–", Math.abs(saved) >= 0.005 && el("small", { class: saved > 0 ? "good" : "bad" }, `${saved > 0 ? "−" : "+"}${percent(Math.abs(saved))}`)] : ""),
      el("td", { class: "num hide-s soft" }, when(session.at, state.language)));
  }
  /** What a look into the sessions in sight tells: one after the other, the short ones first, until somebody goes elsewhere. */
  async digest() {
    if (this.isLooking) return;
    this.isLooking = true;
    while (this.wanted.size && !this.left.signal.aborted) {
      const name = [...this.wanted].reduce((best, each) => ((this.rows.get(each)?.messages ?? 0) < (this.rows.get(best)?.messages ?? 0) ? each : best));
      this.wanted.delete(name);
      try { this.digests.set(name, await get(of(name, "/digest"), {}, this.left.signal)); this.told(name); } catch { this.digests.set(name, null); }
    }
    this.isLooking = false;
  }
  told(name) {
    const row = this.body.querySelector(`tr[data-name="${CSS.escape(name)}"]`);
    if (row && this.rows.has(name)) row.replaceWith(this.row(this.rows.get(name), row.classList.contains("inner") ? 1 : 0));
    this.total();
  }
  total() {
    const own = [...this.rows.values()].filter((each) => !this.rows.has(each.origin)); // what a fork shares is paid for once
    const priced = own.map((each) => this.digests.get(each.name)).filter((each) => each?.unit === "USD");
    const sum = (of) => priced.reduce((so, each) => so + (of(each) ?? 0), 0), spent = sum((each) => each.spent), full = sum((each) => each.full);
    const tile = (value, words, kind) => el("div", { class: "tile" }, el("b", { class: kind }, value), el("span", {}, words));
    fill(this.tiles, tile(n([...this.rows.values()].reduce((so, each) => so + each.messages, 0)), t("messages")), tile(n([...this.rows.values()].reduce((so, each) => so + each.folds, 0)), t("folds")), priced.length > 0 && [tile(money(spent), t("spent")), full > 0 && tile(money(full), t("without")), full > 0 && tile(`${spent <= full ? "" : "−"}${percent(Math.abs(1 - spent / full))}`, t("saved"), spent <= full ? "good" : "bad")]);
  }
  async heard(news) {
    for (const each of news.threads) this.digests.delete(each.thread);
    const page = await get("/threads", { archived: this.archived, limit: 50 });
    const fresh = new Map(page.sessions.map((session) => [session.name, session]));
    for (const [name, session] of this.rows) if (!fresh.has(name) && !news.threads.some((each) => each.thread === name)) fresh.set(name, session);
    this.rows = fresh;
    if (this.rows.size) this.arrange(); else await this.show();
  }
}

export async function found(main, words, thread = "") {
  const heading = el("h1", {}, `${t("results")}: ${words}`), list = el("section", { class: "card" }, t("loading"));
  fill(main, el("div", { class: "head" }, heading), list);
  const { passages } = await get("/search", { words, thread });
  fill(list, passages.length ? passages.map((each) => passage(each, thread)) : el("p", { class: "soft" }, t("noResults")));
}

function passage(each, thread) {
  const name = each.thread || thread;
  return el("a", { class: "passage", href: address(name, `/at/${each.seq}`) }, el("b", {}, name), " ", el("span", { class: "chip" }, each.seq), " ", el("span", { class: "soft" }, `${known(`who_${each.speaker}`) ? t(`who_${each.speaker}`) : each.speaker} · ${when(each.at, state.language)}`), each.fold && [" ", el("span", { class: "chip amber" }, `${t("folded")} ${each.fold}`)], el("p", {}, marked(each.text, each.matched)));
}

function marked(text, matched) {
  const short = text.slice(0, 600), sought = matched.filter((word) => word.length > 1).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!sought.length) return short;
  const pattern = new RegExp(`(${sought.join("|")})`, "iu");
  return short.split(pattern).map((piece, at) => (at % 2 ? el("mark", {}, piece) : piece));
}
