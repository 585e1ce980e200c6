// The interface of the server: questions, changes, and word of what happens.

export const state = { csrf: "", space: "", language: "en", about: null };

export class Refused extends Error {
  constructor(status, kind, message) { super(message); this.status = status; this.kind = kind; }
}

async function answered(response) {
  if (response.ok) return response;
  const text = await response.text();
  let told = null;
  try { told = JSON.parse(text).error; } catch { /* said in plain words */ }
  throw new Refused(response.status, told?.kind ?? "", told?.message ?? text);
}

const address = (path, query = {}) => {
  const asked = new URLSearchParams(Object.entries({ space: state.space, ...query }).filter(([, value]) => value !== "" && value !== undefined && value !== null));
  return `api/v1${path}${asked.size ? `?${asked}` : ""}`;
};

export async function get(path, query, signal) {
  return (await answered(await fetch(address(path, query), { signal, headers: { "accept-language": state.language } }))).json();
}
export async function text(path, query) {
  return (await answered(await fetch(address(path, query), { headers: { "accept-language": state.language } }))).text();
}
export async function post(path, values = {}) {
  const headers = { "content-type": "application/json", "x-contextfold-csrf": state.csrf, "accept-language": state.language };
  return (await answered(await fetch(address(path), { method: "POST", headers, body: JSON.stringify(values) }))).json();
}
export const link = address;
export const of = (thread, path = "") => `/threads/${encodeURIComponent(thread)}${path}`;

/** Hear of everything that happens after a cursor; `heard(news)`, and `alive(whether)` when the line breaks or stands. */
export function listen(cursor, heard, alive) {
  let source = null, at = cursor, stopped = false, again = 0;
  const open = () => {
    source = new EventSource(address("/changes", { after: at }));
    source.addEventListener("open", () => alive(true));
    source.addEventListener("news", (event) => { const news = JSON.parse(event.data); at = news.cursor; heard(news); });
    source.addEventListener("error", () => {
      alive(false);
      source.close();
      if (!stopped) again = setTimeout(open, 1000);
    });
  };
  open();
  return () => { stopped = true; clearTimeout(again); source.close(); };
}
