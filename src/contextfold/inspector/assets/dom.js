// Elements and numbers. Whatever comes from a store enters a page only as text: through here, made harmless.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "path", "rect", "line", "text", "circle", "g", "title"]);
// What would turn the reading direction, hide or move a cursor is spelled out.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export const plain = (text) => String(text).replace(UNSEEN, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);

/** An element: attributes by name, `on…` listeners, `style` as an object, everything else a child. */
export function el(tag, given = {}, ...children) {
  const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [property, set] of Object.entries(value)) made.style.setProperty(property, set);
    else if (name === "value") made.value = plain(value);
    else made.setAttribute(name, value === true ? "" : name.startsWith("data-") ? value : plain(value)); // data is not shown
  }
  made.append(...nodes(children));
  return made;
}

const nodes = (children) =>
  children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false && each !== "")
    .map((each) => (each instanceof Node ? each : document.createTextNode(plain(each))));

export const fill = (target, ...children) => target.replaceChildren(...nodes(children));
export const $ = (id) => document.getElementById(id);

/** Numbers as people read them. */
export const n = (value) => (value ?? 0).toLocaleString("en-US");
export function k(value) {
  if (value >= 1e6) return `${trim(value / 1e6)}M`;
  return value >= 1e4 ? `${trim(value / 1e3)}k` : n(Math.round(value));
}
const trim = (value) => (value >= 100 ? Math.round(value) : Math.round(value * 10) / 10).toString();
export function money(value, unit = "USD") {
  if (value === null || value === undefined) return "–";
  if (unit !== "USD") return `${k(Math.abs(value))} tokens`;
  const size = Math.abs(value), digits = size >= 100 ? 0 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
  return `${value < 0 ? "−" : ""}$${size.toFixed(digits)}`;
}
export const percent = (share) => `${Math.round(100 * share)} %`;
export const bytes = (size) => (size >= 1 << 20 ? `${trim(size / (1 << 20))} MB` : size >= 1024 ? `${trim(size / 1024)} kB` : `${size} B`);

export function when(seconds, language) {
  const at = new Date(seconds * 1000), old = (Date.now() - at) / 1000;
  const told = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  if (old < 60) return told.format(-Math.max(0, Math.round(old)), "second");
  if (old < 3600) return told.format(-Math.round(old / 60), "minute");
  if (old < 86400) return told.format(-Math.round(old / 3600), "hour");
  if (old < 14 * 86400) return told.format(-Math.round(old / 86400), "day");
  return at.toLocaleDateString(language);
}
export const clock = (seconds, language) => new Date(seconds * 1000).toLocaleString(language, { dateStyle: "short", timeStyle: "medium" });

export const kept = {
  get: (name) => { try { return localStorage.getItem(`contextfold.${name}`); } catch { return null; } },
  set: (name, value) => { try { localStorage.setItem(`contextfold.${name}`, value); } catch { /* nothing is kept */ } },
};
