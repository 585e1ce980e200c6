// The same conversation under several policies: what each would have sent, and what that would have cost.

import { get, of, state } from "./api.js";
import { curve } from "./charts.js";
import { el, fill, k, money, n, percent } from "./dom.js";
import { t } from "./words.js";

const MARKS = ["user", "fold-line", "call", "answer", "note", "result", "system"].map((name) => `var(--${name})`);
const KINDS = [["read", "cleared", "cacheRead"], ["write", "user", "cacheWritten"], ["summaries", "stand_in", "p_stand_in"], ["output", "fixed", "answerCost"]];

export class ComparePage {
  constructor(main, thread) { this.main = main; this.thread = thread; this.chosen = new Set(["balanced", "claude_code", "sliding_window"]); }

  async show() {
    this.result = el("div");
    const box = (name) => el("label", {}, el("input", { type: "checkbox", name: "policy", checked: this.chosen.has(name), onchange: (event) => { if (event.target.checked) this.chosen.add(name); else this.chosen.delete(name); } }), ` ${name}`);
    this.run = el("button", { type: "button", class: "main", onclick: () => this.replay() }, t("run"));
    fill(this.main, el("div", { class: "head" }, el("h1", {}, t("compare")), el("span", { class: "soft" }, this.thread)), el("section", { class: "card" }, el("p", { class: "soft" }, t("compareNote")), el("fieldset", { class: "checks" }, el("legend", { class: "sr" }, t("choose")), state.about.policies.map(box)), this.run), this.result);
    await this.replay();
  }
  stop() {}
  keyed() { return false; }

  async replay() {
    this.run.disabled = true;
    fill(this.result, el("section", { class: "card soft" }, t("working")));
    try { this.draw(await get(of(this.thread, "/compare"), { policies: [...this.chosen].join(",") })); } catch (error) { fill(this.result, el("section", { class: "card wrong" }, error.message)); }
    this.run.disabled = false;
  }
  draw(report) {
    const named = (total) => (total.kind === "policy" ? total.policy : t(total.kind)), totals = report.totals, most = Math.max(1e-9, ...totals.map((each) => each.cost?.total ?? 0));
    const bars = totals.filter((each) => each.cost).map((each) => el("div", {}, el("b", {}, named(each)), el("span", {}, `${money(each.cost.total)}${each.against_full === null || each.kind === "full" ? "" : ` · ${percent(each.against_full)}`}`), el("div", { class: "bar", role: "img", "aria-label": `${named(each)}: ${money(each.cost.total)}` }, KINDS.map(([kind, mark, what]) => each.cost[kind] > 0 && el("i", { title: `${t(what)}: ${money(each.cost[kind])}`, style: { width: `${(100 * each.cost[kind]) / most}%`, background: `var(--${mark})` } })))));
    const head = ["policy", "total", "against", "requests", "folds", "peak", "cacheShare"].map((name, at) => el("th", { scope: "col", class: at ? "num" : "" }, t(name)));
    const table = el("table", {}, el("caption", {}, t("compare")), el("thead", {}, el("tr", {}, head)), el("tbody", {}, totals.map((each) => el("tr", {}, el("th", { scope: "row" }, named(each)), [money(each.cost?.total), each.against_full === null ? "–" : percent(each.against_full), n(each.requests), n(each.folds), k(each.peak), each.read + each.written ? percent(each.read / (each.read + each.written)) : "–"].map((value) => el("td", { class: "num" }, value))))));
    const rows = report.rows.filter((row) => row.kind === "policy" && row.context.length), whole = report.rows.find((row) => row.kind === "full"), top = 1.1 * Math.max(1, ...rows.map((row) => row.peak), Math.min(whole?.peak ?? 0, 2 * Math.max(...rows.map((row) => row.peak), 1)));
    fill(this.result, report.failures.map((each) => el("p", { class: "card wrong" }, `${each.policy} ${each.reason}`)), el("section", { class: "card bars" }, el("h2", {}, t("total")), bars, el("ul", { class: "legend" }, KINDS.map(([, mark, what]) => el("li", {}, el("span", { class: "k", style: { background: `var(--${mark})` } }), t(what))))),
      el("section", { class: "card scroll", tabindex: 0 }, table), rows.length > 0 && el("section", { class: "card" }, el("h2", {}, t("over")), el("div", { class: "panels" }, rows.map((row, at) => el("figure", {}, el("figcaption", {}, el("span", { class: "k", style: { background: MARKS[at % MARKS.length] } }), `${row.policy} · ${t("folds")} ${n(row.folds)} · ${t("peak")} ${k(row.peak)}`), curve(row, whole, MARKS[at % MARKS.length], top))))));
  }
}
