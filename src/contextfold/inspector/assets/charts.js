// Drawings: the window as a bar, requests over time, and how a history became a request. Numbers in, elements out.

import { el, k, money, n } from "./dom.js";
import { t } from "./words.js";

const colour = (name) => `var(--${name})`;

/** The next request to scale, the room for the answer, and where folding begins. */
export function gauge(told) {
  const share = (tokens) => `${(100 * tokens) / told.window}%`, name = (part) => t(`p_${part.part}`) + (part.name ? ` · ${part.part === "stand_in" ? t(`f_${part.name}`) : part.name}` : "");
  const free = Math.max(0, told.window - told.used - told.reserve);
  const label = `${t("gauge")}: ${n(told.used)} / ${n(told.window)} ${t("tokens")}; ${told.parts.map((part) => `${name(part)} ${n(part.tokens)}`).join(", ")}`;
  const bar = el("div", { class: "bar", role: "img", "aria-label": label },
    told.parts.map((part) => el("i", { title: `${name(part)}: ${n(part.tokens)}`, style: { width: share(part.tokens), background: colour(part.part) } })),
    el("i", { class: "reserve", title: `${t("reserve")}: ${n(told.reserve)}`, style: { width: share(told.reserve) } }),
    told.threshold > 0 && el("u", { title: `${t("begins")}: ${n(told.threshold)}`, style: { left: share(told.threshold) } }),
    el("u", { class: "end", title: `${t("ends")}: ${n(told.usable)}`, style: { left: share(told.usable) } }));
  const item = (mark, words, tokens, soft) => el("li", { class: soft && "soft" }, mark && el("span", { class: "k", style: { background: mark } }), words, el("b", {}, n(tokens)));
  const legend = el("ul", { class: "legend" }, told.parts.map((part) => item(colour(part.part), name(part), part.tokens)), item("", t("free"), free, true), item("", t("reserve"), told.reserve, true));
  const source = [`${n(told.used)} / ${n(told.usable)} ${t("tokens")}`, told.newest > 0 && `${t("newestTurn")}: ${n(told.newest)}`, told.is_exact ? t("exact") : `${t("estimated")} (${told.method.replace("estimate:", "")})`, told.factor !== 1 && `${t("corrected")}${told.factor}`, told.is_window_assumed && t("assumed")].filter(Boolean).join(" · ");
  const marks = [told.threshold > 0 && `┃ ${t("begins")}: ${n(told.threshold)}`, `${t("policy")}: ${told.policy}`].filter(Boolean).join(" · ");
  return [bar, legend, el("div", { class: "scale" }, el("span", {}, source), el("span", {}, marks)), el("div", { class: "scale" }, el("span", {}, `${t("decision")}: ${t(`a_${told.action}`)} – ${told.reason}`))];
}

export function spark(sizes) {
  const top = Math.max(1, ...sizes), x = (at) => 1 + (118 * at) / Math.max(1, sizes.length - 1), y = (value) => 24.5 - (22 * value) / top;
  return el("svg", { class: "spark", viewBox: "0 0 120 26", role: "img", "aria-label": t("spark") }, sizes.length > 1 && el("path", { d: path(sizes.map((value, at) => [x(at), y(value)])), fill: "none", stroke: colour("user"), "stroke-width": 1.5, "stroke-linejoin": "round" }));
}

const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Requests over time. `kind`: "size", "cost" or "predicted"; `pick(number)` when somebody chooses one. */
export function overTime(kind, history, told, at, pick) {
  const wide = innerWidth < 640 ? 460 : 1000, left = 62, right = 12, all = history.requests, last = Math.max(1, all.length - 1);
  const x = (place) => left + ((wide - left - right) * place) / last;
  const made = { size: sizes, cost: costs, predicted }[kind](all, told, x, wide, left, right);
  const place = Math.max(0, all.findIndex((each) => each.number >= at));
  const high = made.high, chosen = all[place];
  const svg = el("svg", { class: "chart", viewBox: `0 0 ${wide} ${high}`, role: "slider", tabindex: 0, "aria-label": t("over"), "aria-valuemin": 1, "aria-valuemax": history.total, "aria-valuenow": chosen.number, "aria-valuetext": `${t("request")} ${chosen.number}: ${n(chosen.tokens)} ${t("tokens")}` },
    made.drawn, el("line", { class: "cursor", x1: x(place), x2: x(place), y1: 6, y2: high - 4 }));
  const choose = (event) => {
    const box = svg.getBoundingClientRect(), px = ((event.clientX - box.left) / box.width) * wide;
    pick(all[Math.max(0, Math.min(last, Math.round(((px - left) / (wide - left - right)) * last)))]?.number ?? 1);
  };
  svg.addEventListener("click", choose);
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (by) { event.preventDefault(); event.stopPropagation(); pick(Math.max(1, Math.min(history.total, at + by))); }
  });
  return [svg, el("ul", { class: "legend" }, made.legend.map(([mark, words]) => el("li", {}, mark.length > 2 ? el("span", { class: "k", style: { background: mark } }) : `${mark} `, words)))];
}

function sizes(all, told, x, wide, left, right) {
  const high = 250, floor = 170, head = 14, peak = Math.max(...all.map((each) => each.tokens), 1);
  const top = 1.12 * Math.max(peak, Math.min(told.usable, 1.5 * peak)), y = (tokens) => floor - ((floor - head) * Math.min(tokens, top * 1.04)) / top;
  const line = all.map((each, at) => [x(at), y(each.tokens)]);
  const whole = [];
  let beyond = null;
  all.forEach((each, at) => { if (each.whole === undefined || beyond) return; if (each.whole > top) beyond = [x(at), all.findLast((one) => one.whole !== undefined).whole]; else whole.push([x(at), y(each.whole)]); });
  const drawn = [grid(left, wide, right, y(0), "grid", "0")];
  if (told.usable <= top) drawn.push(grid(left, wide, right, y(told.usable), "limit", k(told.usable)));
  else drawn.push(grid(left, wide, right, y(peak), "grid", k(peak)));
  if (told.threshold > 0 && told.threshold <= top) drawn.push(grid(left, wide, right, y(told.threshold), "begin", told.usable - told.threshold > top / 12 ? k(told.threshold) : ""));
  if (line.length) drawn.push(el("path", { d: `${path(line)}L${line.at(-1)[0]} ${floor}L${line[0][0]} ${floor}Z`, fill: colour("user"), opacity: 0.12 }));
  if (whole.length) drawn.push(el("path", { class: "whole", d: path(whole) }));
  drawn.push(el("path", { d: path(line), fill: "none", stroke: colour("user"), "stroke-width": 1.8, "stroke-linejoin": "round" }));
  if (beyond) drawn.push(el("text", { x: Math.min(beyond[0] + 8, wide - 250), y: head + 2 }, `${t("unfoldedSize")} → ${k(beyond[1])}`));
  const base = 244, tall = 46, bill = Math.max(1, ...all.map((each) => each.billed ?? each.tokens)), width = Math.max(1, ((wide - left - right) / all.length) * 0.72);
  all.forEach((each, at) => {
    if (each.folds) drawn.push(el("path", { d: `M${x(at) - 4.5} ${floor + 13}h9l-4.5 -8z`, fill: colour("fold-line") }, el("title", {}, `${t("fold")}: ${each.folds}`)));
    if (each.rewinds) drawn.push(el("text", { x: x(at) - 5, y: floor + 14 }, "↶"));
    if (each.billed === undefined) return;
    const read = each.read ?? 0, wrote = each.written ?? 0, fresh = Math.max(0, each.billed - read - wrote);
    let from = base;
    for (const [value, mark] of [[read, "cleared"], [wrote, "stand_in"], [fresh, "bad"]]) {
      const tallness = (tall * value) / bill;
      if (tallness > 0.15) drawn.push(el("rect", { x: x(at) - width / 2, y: from - tallness, width, height: tallness, fill: colour(mark) }));
      from -= tallness;
    }
  });
  return { high, drawn, legend: [[colour("user"), t("size")], ["▲", t("fold")], ["↶", t("rewindMark")], [colour("cleared"), t("cacheRead")], [colour("stand_in"), t("cacheWritten")], [colour("bad"), t("fresh")], ["┄", t("unfoldedSize")]] };
}

function costs(all, told, x, wide, left, right) {
  const high = 200, floor = 184, most = Math.max(1e-9, ...all.map((each) => each.cost ?? 0)), width = Math.max(1, ((wide - left - right) / all.length) * 0.72);
  const drawn = [grid(left, wide, right, floor, "grid", "0"), grid(left, wide, right, 14, "grid", money(most))];
  let sum = 0;
  const total = Math.max(1e-9, all.reduce((so, each) => so + (each.cost ?? 0), 0)), rising = [];
  all.forEach((each, at) => {
    const tall = ((floor - 14) * (each.cost ?? 0)) / most;
    sum += each.cost ?? 0;
    rising.push([x(at), floor - ((floor - 14) * sum) / total]);
    drawn.push(el("rect", { x: x(at) - width / 2, y: floor - tall, width, height: Math.max(0, tall), fill: each.folds ? colour("stand_in") : colour("answer") }));
  });
  drawn.push(el("path", { d: path(rising), class: "whole" }), el("text", { x: wide - right, y: 11, "text-anchor": "end" }, `Σ ${money(total)}`));
  return { high, drawn, legend: [[colour("answer"), t("costs")], [colour("stand_in"), t("fold")], ["┄", "Σ"]] };
}

function predicted(all, told, x, wide, left, right) {
  const known = all.map((each, at) => [each, at]).filter(([each]) => each.billed), off = known.map(([each]) => each.tokens / each.billed - 1);
  const most = Math.max(0.02, ...off.map(Math.abs)), high = 200, middle = 100, y = (value) => middle - (84 * value) / most;
  const drawn = [grid(left, wide, right, y(most), "grid", `+${(100 * most).toFixed(0)} %`), grid(left, wide, right, middle, "grid", "0"), grid(left, wide, right, y(-most), "grid", `−${(100 * most).toFixed(0)} %`)];
  drawn.push(el("path", { d: path(known.map(([, at], place) => [x(at), y(off[place])])), fill: "none", stroke: colour("call"), "stroke-width": 1.8 }));
  return { high, drawn, legend: [[colour("call"), t("predicted")]] };
}

const grid = (left, wide, right, y, kind, words) => [el("line", { class: kind, x1: left, x2: wide - right, y1: y, y2: y }), words && el("text", { x: left - 7, y: y + 4, "text-anchor": "end" }, words)];

/** Everything said until then, to scale, and what of it was sent: bands run from one to the other. */
export function requestMap(shown) {
  const wide = 500, high = 660, x1 = 16, x2 = 262, thick = 46, total = Math.max(1, shown.said + shown.system + shown.tools, shown.request.tokens);
  const scale = (high - 40) / total, left = new Map(), back = [], front = [];
  const fixed = [["system", shown.system], ["tools", shown.tools]].filter(([, tokens]) => tokens > 0);
  const band = (a, ah, b, bh, mark, opacity) => { const bend = (x1 + thick + x2) / 2; back.push(el("path", { d: `M${x1 + thick} ${a}C${bend} ${a} ${bend} ${b} ${x2} ${b}V${b + bh}C${bend} ${b + bh} ${bend} ${a + ah} ${x1 + thick} ${a + ah}Z`, fill: colour(mark), opacity })); };
  const box = (x, y, tall, mark, opacity, title) => front.push(el("rect", { x, y, width: thick, height: Math.max(0.8, tall - 0.3), fill: colour(mark), opacity }, el("title", {}, title)));
  let y = 26;
  for (const [name, tokens] of fixed) { left.set(name, [y, tokens * scale]); box(x1, y, tokens * scale, name, 1, `${t(`p_${name}`)} ${n(tokens)}`); y += tokens * scale; }
  const hidden = new Map();
  for (const run of shown.history) {
    const tall = run.tokens * scale;
    if (run.fate === "folded") (hidden.get(run.fold) ?? hidden.set(run.fold, []).get(run.fold)).push([y, tall, run.tokens]);
    else left.set(run.first, [y, tall]);
    box(x1, y, tall, run.who, run.fate === "kept" ? 1 : 0.4, `${run.first}${run.last > run.first ? `–${run.last}` : ""} · ${n(run.tokens)}`);
    y += tall;
  }
  let z = 26;
  for (const [name, tokens] of fixed) { const [a, ah] = left.get(name); band(a, ah, z, tokens * scale, name, 0.2); box(x2, z, tokens * scale, name, 1, t(`p_${name}`)); z += tokens * scale; }
  const kinds = new Map();
  for (const part of shown.parts) {
    const tall = part.tokens * scale, mark = part.kind === "stand_in" ? "stand_in" : part.who === "tool" && part.is_touched ? "cleared" : part.who;
    kinds.set(mark, (kinds.get(mark) ?? 0) + part.tokens);
    if (part.kind === "stand_in") {
      const runs = hidden.get(part.seq) ?? [], sum = runs.reduce((so, run) => so + run[2], 0) || 1;
      let from = z;
      for (const [a, ah, tokens] of merged(runs)) { const share = (Math.max(tall, 3) * tokens) / sum; band(a, ah, from, share, "stand_in", 0.3); from += share; }
      box(x2, z, Math.max(tall, 3), "stand_in", 1, `${t("standIn")} ${part.seq} · ${n(part.tokens)}`);
      z += Math.max(tall, 3);
    } else {
      const from = left.get(part.seq);
      if (from) band(from[0], from[1], z, tall, mark, 0.2);
      box(x2, z, tall, mark, 1, `${part.seq} · ${n(part.tokens)}`);
      z += Math.max(tall, 0.8);
    }
  }
  const names = { stand_in: "p_stand_in", cleared: "p_cleared", user: "p_user", assistant: "p_answer", tool: "p_result", note: "p_note", system: "p_system" };
  const legend = [...kinds].filter(([, tokens]) => tokens > 0).sort((a, b) => b[1] - a[1]).flatMap(([mark, tokens], at) => [el("rect", { x: x2 + thick + 14, y: 28 + at * 19, width: 10, height: 10, rx: 3, fill: colour(mark) }), el("text", { x: x2 + thick + 30, y: 37 + at * 19 }, `${t(names[mark] ?? mark)} ${k(tokens)}`)]);
  const away = 1 - Math.min(1, shown.request.tokens / total), below = Math.min(z + 34, high - 60);
  return el("svg", { class: "chart", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${t("history")}: ${n(total)} ${t("tokens")} → ${n(shown.request.tokens)} ${t("tokens")}` },
    back, front, el("text", { x: x1, y: 16 }, `${n(total)} ${t("tokens")}`), el("text", { x: x2, y: 16 }, `${n(shown.request.tokens)} ${t("tokens")}`), legend,
    el("text", { class: "big", x: x2, y: below }, `${Math.round(100 * away)} % ${t("leftOut")}`));
}

function merged(runs) {
  const out = [];
  for (const [y, tall, tokens] of runs) {
    const last = out.at(-1);
    if (last && y - (last[0] + last[1]) < 0.6) { last[1] = y + tall - last[0]; last[2] += tokens; } else out.push([y, tall, tokens]);
  }
  return out;
}

/** One policy's requests over a session: for comparing. */
export function curve(row, whole, mark, top) {
  const wide = 460, high = 150, left = 44, floor = 132, turns = Math.max(1, row.turns), x = (place) => left + ((wide - left - 6) * place) / turns, y = (tokens) => floor - ((floor - 12) * Math.min(tokens, top)) / top;
  const points = row.context.map((tokens, at) => [x(row.places[at]), y(tokens)]);
  return el("svg", { class: "chart", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${row.policy}: ${t("peak")} ${n(row.peak)}` }, grid(left, wide, 6, floor, "grid", "0"), row.window <= top && grid(left, wide, 6, y(row.window), "limit", k(row.window)), grid(left, wide, 6, y(row.peak), "grid", k(row.peak)),
    whole && el("path", { class: "whole", d: path(whole.context.map((tokens, at) => [x(whole.places[at]), y(tokens)])) }),
    points.length > 1 && el("path", { d: `${path(points)}L${points.at(-1)[0]} ${floor}L${points[0][0]} ${floor}Z`, fill: mark, opacity: 0.13 }), points.length > 1 && el("path", { d: path(points), fill: "none", stroke: mark, "stroke-width": 1.7 }),
    row.foldings.map((each) => el("path", { d: `M${x(each.turn) - 4} ${floor + 11}h8l-4 -7z`, fill: colour("fold-line") }, el("title", {}, each.reason))));
}
