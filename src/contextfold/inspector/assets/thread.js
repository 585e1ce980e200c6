// One session: what fills its window, how that came, the conversation, and the request that is looked at.

import { Acts } from "./acts.js";
import { get, of, state } from "./api.js";
import { gauge, overTime } from "./charts.js";
import { clock, el, fill, money, n } from "./dom.js";
import { address } from "./sessions.js";
import { Timeline } from "./timeline.js";
import { t } from "./words.js";

const LISTINGS = ["said", "people", "tools", "shown", "hidden", "everything"];

export class ThreadPage {
  constructor(main, thread) {
    this.main = main; this.thread = thread; this.chart = "size"; this.at = 0;
    this.acts = new Acts(thread, (act, told) => this.went(act, told));
  }

  async show(seq) {
    this.gauge = el("div", {}, el("p", { class: "soft" }, t("loading")));
    this.over = el("div");
    this.facts = el("aside", { class: "card sticky" });
    this.timeline = new Timeline(this.thread, this.acts);
    const act = (words, run, kind = "") => el("button", { type: "button", class: kind, onclick: run }, words);
    const frozen = state.about.is_read_only;
    this.tabs = el("div", { class: "tabs", role: "group", "aria-label": t("show") });
    this.title = el("h1", {}, this.thread);
    this.chip = el("span", { class: "chip" }, "…");
    fill(this.main, el("div", { class: "head" }, this.title, this.chip, el("span", { class: "grow" }),
      act(t("foldNow"), () => this.acts.fold(), "main"), act(t("compare"), () => { location.hash = address(this.thread, "/compare"); }), act(t("export"), () => this.acts.export()),
      !frozen && [act(t("redo"), () => this.acts.redo()), act(t("fork"), () => this.acts.fork()), act(t("rename"), () => this.acts.rename()), act(t("archive"), () => this.acts.archive()), act(t("forget"), () => this.acts.forget())]),
      el("section", { class: "card" }, el("h2", {}, t("gauge")), this.gauge), el("section", { class: "card" }, this.over),
      el("div", { class: "two" }, el("section", { class: "card" }, el("h2", {}, t("conversation")), this.tabs, this.timeline.element), this.facts));
    this.drawTabs();
    await this.timeline.start(seq);
    await Promise.all([this.timeline.rest, this.numbers()]);
  }
  stop() { this.timeline?.stop(); }

  drawTabs() {
    fill(this.tabs, LISTINGS.map((name) => el("button", { type: "button", "aria-pressed": String(this.timeline.listing === name), onclick: async () => { await this.timeline.show(name); this.drawTabs(); } }, t(`l_${name}`))), el("span", { class: "grow" }),
      el("button", { type: "button", class: "quiet", onclick: () => this.timeline.keyed({ key: "g" }) }, `↑ ${t("oldest")}`), el("button", { type: "button", class: "quiet", onclick: () => this.timeline.keyed({ key: "G" }) }, `↓ ${t("newest")}`));
  }
  async numbers() {
    try {
      const told = this.told = await get(of(this.thread, "/gauge"));
      fill(this.chip, told.model || "–");
      fill(this.gauge, gauge(told));
    } catch (error) { fill(this.gauge, el("p", { class: "bad" }, error.message)); return; }
    this.history = await get(of(this.thread, "/requests"));
    if (!this.at || this.follows !== false) this.at = this.history.total;
    this.drawRequests();
  }
  drawRequests() {
    if (!this.history.total) { fill(this.over, el("h2", {}, t("over")), el("p", { class: "soft" }, t("noRequests"))); fill(this.facts, el("h2", {}, t("request")), el("p", { class: "soft" }, t("noRequests"))); return; }
    const had = document.activeElement?.classList?.contains("chart");
    const tab = (kind, words) => el("button", { type: "button", "aria-pressed": String(this.chart === kind), onclick: () => { this.chart = kind; this.drawRequests(); } }, words);
    fill(this.over, el("div", { class: "tabs", role: "group", "aria-label": t("over") }, tab("size", t("over")), this.history.is_priced && tab("cost", t("costs")), tab("predicted", t("predicted"))), overTime(this.chart, this.history, this.told, this.at, (number) => this.pick(number)));
    if (had) this.over.querySelector(".chart").focus();
    this.drawFacts();
  }
  pick(number) { this.follows = number === this.history.total; this.at = number; this.drawRequests(); }
  step(by) { if (this.history?.total) this.pick(Math.max(1, Math.min(this.history.total, this.at + by))); }

  drawFacts() {
    const all = this.history.requests, one = all.find((each) => each.number === this.at) ?? all.findLast((each) => each.number <= this.at) ?? all[0];
    const row = (words, value, kind) => value !== undefined && value !== "" && [el("dt", {}, words), el("dd", { class: kind }, value)];
    const fresh = one.billed === undefined ? undefined : Math.max(0, one.billed - (one.read ?? 0) - (one.written ?? 0));
    fill(this.facts, el("h2", {}, `${t("request")} ${one.number} ${t("of")} ${this.history.total}`),
      el("dl", {}, row(t("counted"), n(one.tokens)), row(t("billed"), one.billed === undefined ? "–" : `${n(one.billed)} (${one.tokens >= one.billed ? "+" : "−"}${Math.abs(100 * (one.tokens / Math.max(1, one.billed) - 1)).toFixed(1)} %)`), row(t("read"), one.read === undefined || one.read === null ? "–" : n(one.read), "good"), row(t("written"), n(one.written ?? 0)), fresh !== undefined && row(t("freshInput"), n(fresh), fresh > 2000 ? "bad" : ""), one.output > 0 && row(t("output"), n(one.output)), row(t("cost1"), money(one.cost)), one.whole > one.tokens && row(t("left"), `${n(one.whole - one.tokens)} ${t("tokens")}`), row(t("at"), clock(one.at, state.language))),
      one.reason && el("p", { class: "reason" }, `${t("why")}: ${one.reason}`),
      el("div", { class: "acts" }, el("button", { type: "button", class: "main", onclick: () => { location.hash = address(this.thread, `/saw/${one.number}`); } }, t("saw")), el("button", { type: "button", "aria-label": t("prev"), onclick: () => this.step(-1) }, "←"), el("button", { type: "button", "aria-label": t("next"), onclick: () => this.step(1) }, "→")));
  }

  async heard(news) {
    const mine = news.threads.find((each) => each.thread === this.thread);
    if (!mine) return;
    await this.timeline.heard(mine.kinds);
    clearTimeout(this.later);
    this.later = setTimeout(() => this.numbers(), 150);
  }
  went(act, told) {
    if (act === "rename") { location.hash = address(told.thread); return; }
    if (act === "fork" && told.thread) { location.hash = address(told.thread); return; }
    if (act === "archive") { location.hash = "#/"; return; }
    this.timeline.again(true).then(() => this.numbers());
  }
  keyed(event) {
    if (event.key === "ArrowLeft") { this.step(-1); return true; }
    if (event.key === "ArrowRight") { this.step(1); return true; }
    return this.timeline.keyed(event);
  }
}
