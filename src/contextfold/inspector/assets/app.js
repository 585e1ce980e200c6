// Where the page begins: which screen an address means, the language, the theme, the keyboard, and word of what happens.

import { get, listen, state } from "./api.js";
import { ComparePage } from "./compare.js";
import { $, el, fill, kept } from "./dom.js";
import { SawPage } from "./saw.js";
import { address, found, Sessions } from "./sessions.js";
import { ThreadPage } from "./thread.js";
import { speak, t } from "./words.js";

const main = $("main");
let screen = null, quiet = null, turn = 0;

function where() {
  const [, first, name, part, value] = location.hash.split("?")[0].split("/");
  const thread = name === undefined ? "" : decodeURIComponent(name);
  if (!first) return { kind: "sessions" };
  if (first === "find") return { kind: "find", words: thread, thread: part === undefined ? "" : decodeURIComponent(part) };
  if (first === "t" && thread) return { kind: part === "saw" ? "saw" : part === "compare" ? "compare" : part === undefined || part === "at" ? "thread" : "", thread, value: Number(value) || 0 };
  return { kind: "" };
}

async function show() {
  const asked = ++turn, here = where();
  if (screen?.thread !== undefined && here.kind === "thread" && screen instanceof ThreadPage && screen.thread === here.thread && here.value && screen.timeline) { crumbs(here); await screen.timeline.jump(here.value); return; }
  screen?.stop?.();
  screen = null;
  crumbs(here);
  scrollTo(0, 0);
  try {
    if (here.kind === "sessions") screen = new Sessions(main);
    else if (here.kind === "thread") screen = new ThreadPage(main, here.thread);
    else if (here.kind === "saw") screen = new SawPage(main, here.thread, here.value || 1);
    else if (here.kind === "compare") screen = new ComparePage(main, here.thread);
    else if (here.kind === "find") { await found(main, here.words, here.thread); return; }
    else { fill(main, el("section", { class: "card" }, t("notHere"))); return; }
    await screen.show(here.value);
  } catch (error) { if (asked === turn) wrong(error); }
}

function wrong(error) {
  const isStore = error.status === 503;
  fill(main, el("section", { class: "card wrong", role: "alert" }, el("h2", {}, t(isStore ? "storeWrong" : "wrong")), el("p", {}, error.message), isStore && el("p", {}, t("verifyHint")), el("button", { type: "button", onclick: begin }, t("tryAgain"))));
}

function crumbs(here) {
  const home = el(here.kind === "sessions" ? "b" : "a", { href: here.kind === "sessions" ? null : "#/" }, t("sessions")), thread = here.thread ?? "";
  const last = { saw: t("saw"), compare: t("compare"), find: t("results") }[here.kind];
  fill($("crumbs"), home, thread && [" / ", el(last ? "a" : "b", { href: last ? address(thread) : null }, thread)], last && [" / ", el("b", {}, last)]);
  document.title = `${thread || last || t("sessions")} · contextfold`;
}

function dress() {
  document.documentElement.lang = state.language;
  speak(state.language);
  $("skip").textContent = t("skip");
  $("find-label").textContent = t("find");
  $("find").placeholder = t("find");
  $("language").textContent = t("otherLanguage");
  $("language").lang = state.language === "en" ? "ja" : "en";
  $("crumbs").setAttribute("aria-label", t("sessions"));
  for (const name of ["theme", "help"]) { $(name).setAttribute("aria-label", t(name)); $(name).title = t(name); }
  $("space").setAttribute("aria-label", t("space"));
}

function alive(isAlive) {
  $("live").classList.toggle("off", !isAlive);
  const frozen = state.about?.is_read_only ? ` · ${t("readonly")}` : "";
  fill($("live"), `${t(isAlive ? "live" : "offline")}${frozen}`);
  $("live").title = state.about?.store ?? "";
}

/** Ask whether conversations are kept; where they are not, say since when, until they are again. */
async function watch() {
  let health = null;
  try { health = await get("/health"); } catch { /* the line says that it is broken */ }
  const unkept = health !== null && !health.is_kept;
  $("unkept").hidden = !unkept;
  fill($("unkept"), unkept && `${t("unkept").replace("{since}", new Date(health.since * 1000).toLocaleString(state.language)).replace("{requests}", health.requests)} ${health.why}`);
  setTimeout(watch, 5000);
}

async function heard(news) {
  $("live").classList.remove("beat");
  void $("live").offsetWidth;
  $("live").classList.add("beat");
  try { await screen?.heard?.(news); } catch { alive(false); /* what is shown stays; the next word brings it up to date */ }
}

async function begin() {
  quiet?.();
  try {
    state.about = await get("/about");
    state.csrf = state.about.csrf;
    state.space = state.about.space;
  } catch (error) { alive(false); wrong(error); return; }
  const spaces = state.about.spaces;
  $("space").hidden = spaces.length < 2;
  fill($("space"), spaces.map((name) => el("option", { value: name, selected: name === state.about.space }, name)));
  quiet = listen(state.about.cursor, heard, alive);
  await show();
  if (screen instanceof Sessions && !screen.rows.size) setTimeout(() => { if (screen instanceof Sessions && !screen.rows.size) begin(); }, 3000);
}

function keys() {
  const rows = [["j k", "k_jk"], ["Enter", "k_enter"], ["/", "k_slash"], ["← →", "k_arrows"], ["G g", "k_g"], ["p", "k_p"], ["u", "k_u"], ["s", "k_s"], ["Esc", "k_esc"], ["?", "k_help"]];
  const dialog = el("dialog", { "aria-labelledby": "keys" }, el("h2", { id: "keys" }, t("help")), el("div", { class: "keys" }, rows.map(([key, words]) => [el("span", {}, key.split(" ").map((each) => [el("kbd", {}, each), " "])), el("span", {}, t(words))])), el("div", { class: "buttons" }, el("button", { type: "button", onclick: () => { dialog.close(); } }, t("close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.("input, textarea, select")) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.key === "/") { event.preventDefault(); $("find").focus(); $("find").select(); return; }
  if (event.key === "?") { keys(); return; }
  if (event.key === "s") { location.hash = "#/"; return; }
  if (screen?.keyed?.(event)) event.preventDefault();
});
$("finder").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = $("find").value.trim(), thread = where().thread ?? "";
  if (!words) return;
  if (/^\d+$/.test(words) && thread) location.hash = address(thread, `/at/${words}`);
  else location.hash = `#/find/${encodeURIComponent(words)}${thread ? `/${encodeURIComponent(thread)}` : ""}`;
  $("find").blur();
});
$("language").addEventListener("click", () => { state.language = state.language === "en" ? "ja" : "en"; kept.set("language", state.language); dress(); alive(!$("live").classList.contains("off")); show(); });
$("theme").addEventListener("click", () => {
  const now = document.documentElement.style.colorScheme, isDark = now ? now === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.style.colorScheme = isDark ? "light" : "dark";
  kept.set("theme", isDark ? "light" : "dark");
});
$("help").addEventListener("click", keys);
$("space").addEventListener("change", () => { state.space = $("space").value; location.hash = "#/"; begin(); });
addEventListener("hashchange", show);

state.language = kept.get("language") ?? (navigator.language.startsWith("ja") ? "ja" : "en");
if (kept.get("theme")) document.documentElement.style.colorScheme = kept.get("theme");
dress();
begin();
watch();
