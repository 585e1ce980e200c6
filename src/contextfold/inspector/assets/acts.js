// What can be changed: each act asks once, tells what will change in tokens and money, and can be taken back.

import { get, link, of, post, state } from "./api.js";
import { $, el, fill, money, n } from "./dom.js";
import { t } from "./words.js";

let clearing = 0;
export function toast(words, ...buttons) {
  clearTimeout(clearing);
  fill($("toast"), el("div", {}, el("span", {}, words), buttons));
  clearing = setTimeout(() => fill($("toast")), buttons.length ? 12000 : 4000);
}
const complain = (error) => toast(error.message, el("button", { type: "button", onclick: () => fill($("toast")) }, t("close")));

/** What is at stake: the next request before and after, what it costs, what leaves or comes back. */
function stakes(told, act) {
  const cost = (value, words) => value !== null && value !== undefined && Math.abs(value) > 1e-9 && el("li", {}, t(words + (value > 0 ? "More" : "Less"), { money: money(Math.abs(value), told.unit) }));
  const moved = { fold: "leave", unfold: "come", rewind: "behind" }[act];
  const fits = told.fits === false;
  return [
    el("div", { class: "turn" }, el("span", {}, el("b", {}, n(told.before)), t("nowSize")), el("span", { "aria-hidden": true }, "→"), el("span", {}, el("b", {}, n(told.after)), el("span", { class: fits ? "bad" : "good" }, `${t(fits ? "noFit" : "fits")} (${n(told.usable)})`))),
    el("ul", {}, told.messages > 0 && moved && el("li", {}, `${n(told.messages)} ${t(moved)}`), act === "unfold" && told.folds?.length > 0 && el("li", {}, `${t("folds_show")}: ${told.folds.join(", ")}`), cost(told.price, "once"), cost(told.saves === undefined ? undefined : -told.saves, "each"), told.files?.length > 0 && el("li", {}, `${t("files")}: ${told.files.slice(0, 8).join(", ")}${told.files.length > 8 ? " …" : ""}`), !told.messages && told.before === told.after && el("li", {}, t("nothingChanged"))),
    told.problem && el("p", { class: "bad" }, told.problem),
  ];
}

/** A question in front of everything; resolves with what was entered, or null. */
function ask(title, build) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { "aria-labelledby": "asked" }), body = el("div"), values = {};
    const yes = el("button", { class: "main", type: "submit", disabled: true }, t("go"));
    const finish = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    const form = el("form", { onsubmit: (event) => { event.preventDefault(); if (!yes.disabled) finish(values); } }, el("h2", { id: "asked" }, title), body, el("div", { class: "buttons" }, el("button", { type: "button", onclick: () => finish(null) }, t("cancel")), yes));
    dialog.append(form);
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); finish(null); });
    document.body.append(dialog);
    dialog.showModal();
    build(body, values, yes);
  });
}

export class Acts {
  constructor(thread, went) { this.thread = thread; this.went = went; }

  async send(act, values, thread = this.thread) {
    try {
      const told = await post(of(thread, `/${act}`), values);
      this.went(act, told);
      const undo = told.undo ?? [];
      toast(t("done"), undo.length > 0 && el("button", { type: "button", onclick: () => this.undo(undo) }, t("undo")));
      return told;
    } catch (error) { complain(error); return null; }
  }
  async undo(steps) {
    try {
      for (const { act, values: { thread = this.thread, ...values } } of steps) await post(of(thread, `/${act}`), values);
      this.went("undo", {});
      toast(t("undone"));
    } catch (error) { complain(error); }
  }

  /** An act that can be asked first what it would do. */
  async foreseen(act, values, more = () => []) {
    const given = await ask(t(`t_${act}`), async (body, entered, yes) => {
      const told = el("div", { "aria-live": "polite" }, el("p", { class: "soft" }, t("working")));
      let round = 0;
      const look = async () => {
        const mine = ++round;
        yes.disabled = true;
        try {
          const answer = await post(of(this.thread, `/${act}`), { ...values, ...entered, preview: true });
          if (mine !== round) return;
          fill(told, stakes(answer, act));
          yes.disabled = state.about.is_read_only || (act === "unfold" && answer.fits === false) || Boolean(answer.problem);
        } catch (error) { if (mine === round) fill(told, el("p", { class: "bad" }, error.message)); }
      };
      fill(body, more(entered, look), told);
      await look();
      if (!yes.disabled) yes.focus();
    });
    return given && this.send(act, { ...values, ...given });
  }

  fold() {
    return this.foreseen("fold", {}, (entered, look) => [el("label", { for: "instructions" }, t("instructions")), el("textarea", { id: "instructions", rows: 2, onchange: (event) => { entered.instructions = event.target.value; look(); } })]);
  }
  unfold(fold) {
    return this.foreseen("unfold", { fold }, (entered, look) => [el("label", { class: "check" }, el("input", { type: "checkbox", onchange: (event) => { entered.make_room = event.target.checked; look(); } }), t("makeRoom"))]);
  }
  pin(seq) { return this.foreseen("pin", { seq }); }
  unpin(seq) { return this.foreseen("unpin", { seq }); }
  rewind(where, canBringFiles = false) {
    return this.foreseen("rewind", where, (entered, look) => canBringFiles ? [el("label", { class: "check" }, el("input", { type: "checkbox", onchange: (event) => { entered.files = event.target.checked; look(); } }), t("withFiles"))] : []);
  }

  /** An act whose stakes are words. */
  async plainly(act, note, field, values = {}) {
    const given = await ask(t(`t_${act}`), (body, entered, yes) => {
      const input = field && el("input", { type: "text", id: "entered", value: field.value ?? "", autocomplete: "off", spellcheck: "false", oninput: () => { entered[field.name] = input.value; yes.disabled = state.about.is_read_only || (field.must ? input.value !== field.must : field.needed && !input.value.trim()); } });
      fill(body, el("p", {}, note), field && [el("label", { for: "entered" }, field.label), input]);
      yes.disabled = state.about.is_read_only || Boolean(field?.must || field?.needed);
      if (field?.must) { yes.className = "danger"; yes.textContent = t("eraseIt"); }
      (input ?? yes).focus();
    });
    return given && this.send(act, { ...values, ...given });
  }
  fork(at) { return this.plainly("fork", t("forkNote"), { name: "name", label: t("forkName") }, at ? { at } : {}); }
  rename() { return this.plainly("rename", t("renameNote"), { name: "to", label: t("newName"), value: this.thread, needed: true }); }
  archive() { return this.plainly("archive", t("archiveNote")); }
  unarchive() { return this.plainly("unarchive", t("archiveNote")); }
  forget(seq) {
    const word = seq ? String(seq) : this.thread;
    return this.plainly("forget", t("forgetNote", { word }), { name: "confirm", label: t("typeWord"), must: word }, seq ? { seq } : {});
  }
  redo() { return this.send("redo", {}); }
  export() { el("a", { href: link(of(this.thread, "/export")), download: "session.jsonl" }).click(); }
  async saw(seq) {
    try { location.hash = `#/t/${encodeURIComponent(this.thread)}/saw/${(await get(of(this.thread, `/request_of/${seq}`))).number}`; } catch (error) { complain(error); }
  }
}
