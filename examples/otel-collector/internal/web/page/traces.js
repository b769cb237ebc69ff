// The latest traces as waterfalls.
import { el } from "./dom.js";
import { clock } from "./units.js";

const ms = (s) => (s >= 1 ? s.toFixed(2) + " s" : s >= 0.0095 ? Math.round(s * 1000) + " ms" : (s * 1000).toFixed(2) + " ms");

const several = (n, what) => n + " " + what + (n === 1 ? "" : "s");

// drawTraces keeps what is open open: a trace that was opened stays although
// newer ones have come.
export function drawTraces(into, list) {
  const known = new Map([...into.children].map((n) => [n.dataset.id, n]));
  const fresh = list.map((t) => t.id);
  const kept = [...known.values()].filter((n) => (n.open || n.contains(document.activeElement)) && !fresh.includes(n.dataset.id));
  const nodes = list.map((t) => {
    const old = known.get(t.id);
    return old && old.dataset.spans === String(t.spans.length) ? old : trace(t, old?.open ?? false);
  });
  const wanted = [...nodes, ...kept].slice(0, 20);
  if (wanted.length === into.children.length && wanted.every((n, i) => n === into.children[i])) return;
  const focused = document.activeElement;
  into.replaceChildren(...wanted);
  if (into.contains(focused)) focused.focus({ preventScroll: true });
}

function trace(t, open) {
  const root = t.spans.find((s) => !s.parent) ?? t.spans[0];
  const attempts = t.spans.filter((s) => s.kind === "Client");
  // A healthy call leaves what it did to the span of its attempt.
  const outcome = root.attributes?.["plimsoll.outcome"] ?? (root.name === "plimsoll.call" ? "ok" : "");
  const address = root.attributes?.["server.address"] ?? attempts[0]?.attributes?.["server.address"] ?? "";
  const details = el("details", { class: "trace", "data-id": t.id, "data-spans": t.spans.length, open },
    el("summary", {},
      el("time", {}, clock(Date.parse(t.start) / 1000)),
      el("span", { class: "what" }, (attempts[0]?.name ?? root.name) + " " + address),
      el("span", { class: "outcome " + outcome }, outcome),
      el("span", { class: "count" }, several(attempts.length, "attempt")),
      strip(t),
      el("b", {}, ms(t.duration))));
  details.addEventListener("toggle", () => details.open && fill(details, t));
  if (open) fill(details, t);
  return details;
}

const kindOf = (s) => (s.kind === "Client" ? (s.error ? "failed" : "attempt") : s.name.includes("backoff") || s.name.includes("throttle") ? "wait" : s.name.includes("recover") ? "recovery" : "call");

function bar(s, t) {
  const b = el("i", { class: "bar " + kindOf(s) });
  place(b, s.offset, s.duration, t);
  return b;
}

function place(node, offset, duration, t) {
  const whole = Math.max(t.duration, 1e-9);
  node.style.left = Math.min(99.5, (offset / whole) * 100) + "%";
  if (duration != null) node.style.width = Math.max(0.5, (duration / whole) * 100) + "%";
}

// strip shows what a call was made of; a refused one was nothing but itself.
function strip(t) {
  const parts = t.spans.filter((s) => s.parent);
  return el("span", { class: "strip", "aria-hidden": "true" }, ...(parts.length > 0 ? parts : t.spans).map((s) => bar(s, t)));
}

function fill(details, t) {
  if (details.querySelector(".waterfall")) return;
  const depth = new Map();
  for (const s of t.spans) depth.set(s.id, s.parent ? (depth.get(s.parent) ?? 0) + 1 : 0);
  details.append(el("ol", { class: "waterfall" }, ...t.spans.map((s) => row(s, t, depth.get(s.id)))));
}

function row(s, t, depth) {
  const name = el("span", { class: "name" }, s.name, s.error ? el("em", {}, " " + s.error) : null);
  name.style.paddingInlineStart = depth * 14 + "px";
  const track = el("span", { class: "track" }, bar(s, t), ...(s.events ?? []).map((e) => {
    const m = el("i", { class: "event", title: e.name });
    place(m, e.offset, null, t);
    return m;
  }));
  const facts = el("ul", { class: "facts" }, ...[
    ...Object.entries(s.attributes ?? {}).map(([k, v]) => el("li", {}, el("span", {}, k), " " + v)),
  ]);
  const events = el("ul", { class: "events" }, ...(s.events ?? []).map((e) => el("li", {},
    el("time", {}, "+" + ms(e.offset)), el("b", {}, e.name), " ",
    Object.entries(e.attributes ?? {}).map(([k, v]) => k.replace(/^plimsoll\./, "") + "=" + v).join(" "))));
  return el("li", {},
    el("div", { class: "line" }, name, track, el("span", { class: "took" }, ms(s.duration))),
    el("details", { class: "more" }, el("summary", {}, several(s.events?.length ?? 0, "event") + ", " + several(Object.keys(s.attributes ?? {}).length, "attribute")), events, facts));
}
