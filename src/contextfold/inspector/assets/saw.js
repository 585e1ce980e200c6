// What did the model see? One request: the map, its parts in order, its exact bytes, and what changed since another.

import { get, of, state, text } from "./api.js";
import { requestMap } from "./charts.js";
import { toast } from "./acts.js";
import { bytes, clock, el, fill, k, money, n } from "./dom.js";
import { pretty, words } from "./message.js";
import { address } from "./sessions.js";
import { t } from "./words.js";

const LETTERS = { user: "U", assistant: "A", tool: "T", system: "S", note: "N", stand_in: "▸" };

export class SawPage {
  constructor(main, thread, number) { this.main = main; this.thread = thread; this.number = number; this.tab = "list"; }

  async show() {
    const shown = this.shown = await get(of(this.thread, `/requests/${this.number}`)), one = shown.request;
    const tile = (value, what, kind) => value !== undefined && el("div", { class: "tile" }, el("b", { class: kind }, value), el("span", {}, what));
    const left = shown.left_out.reduce((so, each) => so + each.tokens, 0), cost = shown.left_out.reduce((so, each) => so + each.cost, 0);
    this.side = el("section", { class: "card" });
    fill(this.main, el("div", { class: "head" }, el("h1", {}, t("saw")), el("span", { class: "soft" }, `${t("request")} ${one.number} ${t("of")} ${shown.total} · ${clock(one.at, state.language)}`), el("span", { class: `chip ${shown.is_exact ? "good" : "bad"}` }, shown.is_exact ? `✓ ${t("proven")}` : t("notProven")), el("span", { class: "grow" }),
        el("span", { class: "pair" }, el("button", { type: "button", disabled: one.number <= 1, onclick: () => this.step(-1) }, `← ${t("prev")}`), el("button", { type: "button", disabled: one.number >= shown.total, onclick: () => this.step(1) }, `${t("next")} →`))),
      !shown.is_exact && el("p", { class: "card wrong" }, shown.problem),
      el("section", { class: "card tiles" }, tile(n(one.tokens), t("counted")), tile(one.billed === undefined ? undefined : n(one.billed), t("billed")), tile(one.read === undefined || one.read === null ? undefined : n(one.read), t("read"), "good"), tile(n(one.written ?? 0), t("written")), tile(one.cost === undefined || one.cost === null ? undefined : money(one.cost), t("cost1")), left > 0 && tile(n(left), t("left")), left > 0 && tile(money(cost, shown.unit), t("inMoney"))),
      el("div", { class: "see" }, el("section", { class: "card sticky" }, el("h2", {}, `${t("history")} → ${t("sentAs")}`), requestMap(shown), shown.left_out.length > 0 && el("ul", { class: "left" }, shown.left_out.slice(0, 8).map((each) => el("li", {}, t("leftOf", { kind: t(`f_${each.kind}`), fold: each.fold, messages: n(each.messages), tokens: k(each.tokens) }), each.reason && el("small", {}, each.reason))))), this.side));
    await this.draw();
  }
  stop() {}
  step(by) { const to = this.number + by; if (to >= 1 && to <= this.shown.total) location.hash = address(this.thread, `/saw/${to}`); }
  keyed(event) { const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]; if (by) this.step(by); return Boolean(by); }

  async draw() {
    const tab = (name, what) => el("button", { type: "button", "aria-pressed": String(this.tab === name), onclick: () => { this.tab = name; this.draw(); } }, what);
    const content = el("div", {}, t("loading"));
    fill(this.side, el("h2", {}, t("sentAs")), el("div", { class: "tabs", role: "group", "aria-label": t("sentAs") }, tab("list", t("list")), tab("body", t("body")), this.shown.total > 1 && tab("diff", t("difference"))), content);
    try { await { list: () => this.list(content), body: () => this.body(content), diff: () => this.diff(content) }[this.tab](); } catch (error) { fill(content, el("p", { class: "bad" }, error.message)); }
  }
  list(content) {
    const shown = this.shown, one = shown.request, rows = [];
    let run = shown.system + shown.tools, isCut = !one.read;
    rows.push(el("p", { class: "soft" }, `${t("p_system")} ${n(shown.system)} · ${t("p_tools")} ${n(shown.tools)}`));
    for (const part of shown.parts) {
      if (!isCut && run >= one.read * 0.985) { isCut = true; rows.push(el("div", { class: "cut" }, `↑ ${t("cacheEnds")}: ${n(one.read)}`)); }
      run += part.tokens;
      rows.push(this.part(part));
    }
    fill(content, rows);
  }
  part(part, kind = "") {
    const isFold = part.kind === "stand_in", into = el("div", { class: "detail" });
    const made = el("details", { class: `part ${isFold ? "folding" : ""} ${kind}`, ontoggle: () => { if (made.open && !into.firstChild) this.unroll(into, part); } },
      el("summary", { class: "line" }, el("span", { class: "seq" }, part.seq || ""), el("span", { class: "who", style: isFold ? {} : { background: `var(--${part.who || "system"})` } }, LETTERS[part.who] ?? "·"), el("span", { class: "txt" }, isFold && el("strong", {}, `${t("standIn")} `), part.who === "tool" ? el("code", {}, part.text) : part.text, part.is_touched && !isFold && el("span", { class: "chip amber" }, t("touched"))), el("span", { class: "tok" }, part.tokens ? k(part.tokens) : bytes(part.size))), into);
    return made;
  }
  async unroll(into, part) {
    fill(into, t("loading"));
    try {
      if (part.kind === "stand_in") { const told = await get(of(this.thread, `/folds/${part.seq}`)); fill(into, el("pre", { tabindex: 0 }, told.text || told.blocks.join("\n"))); }
      else if (part.kind === "message") { const told = await get(of(this.thread, `/messages/${part.seq}`)); fill(into, told.raw === null ? words(part.text) : el("pre", { tabindex: 0 }, pretty(told.raw)), el("div", { class: "acts" }, el("a", { href: address(this.thread, `/at/${part.seq}`) }, `→ ${part.seq}`))); }
      else fill(into, el("pre", { tabindex: 0 }, part.text));
    } catch { fill(into, el("pre", { tabindex: 0 }, part.text)); }
  }
  async body(content) {
    const sent = await text(of(this.thread, `/requests/${this.number}/body`));
    const copy = el("button", { type: "button", onclick: async () => { try { await navigator.clipboard.writeText(sent); toast(t("copied")); } catch (error) { toast(error.message); } } }, t("copy"));
    fill(content, el("div", { class: "acts" }, copy, el("span", { class: "soft" }, `${bytes(this.shown.size)} · ${this.shown.dialect}`)), el("pre", { class: "body", tabindex: 0 }, pretty(sent)));
  }
  async diff(content) {
    const other = this.other ?? Math.max(1, this.number - 1) + (this.number === 1 ? 1 : 0);
    const told = await get(of(this.thread, `/requests/${this.number}/against/${other}`));
    const input = el("input", { type: "number", id: "other", min: 1, max: this.shown.total, value: other, onchange: () => { this.other = Math.max(1, Math.min(this.shown.total, Number(input.value) || 1)); this.draw(); } });
    fill(content, el("p", {}, el("label", { for: "other" }, `${t("diff")} ${t("request").toLowerCase()} `), input, " ", ["same", "new", "changed", "gone"].map((name) => el("span", { class: `chip ${{ new: "good", gone: "bad", changed: "amber" }[name] ?? ""}` }, `${t(name)} ${told[name]}`))),
      told.fields.length > 0 && el("p", { class: "soft" }, `${t("fieldsDiffer")}: ${told.fields.join(", ")}`),
      told.changes.map((each) => each.part ? this.part({ ...each.part, who: each.part.kind === "stand_in" ? "stand_in" : each.part.who || "system" }, `change-${each.change}`) : el("p", { class: "soft" }, `${n(each.count)} ${t("same")}`)));
  }
}
