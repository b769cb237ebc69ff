// The alerts with their state, those that matter first.
import { el } from "./dom.js";
import { ago } from "./units.js";

const rank = { firing: 0, pending: 1, inactive: 2 };

const short = (name) => name.replace(/^Plimsoll/, "").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

export function drawAlerts(into, rules, now) {
  const sorted = [...rules].sort((a, b) => rank[a.state] - rank[b.state] || a.name.localeCompare(b.name));
  const live = sorted.filter((r) => r.state !== "inactive");
  const quiet = sorted.filter((r) => r.state === "inactive");
  const open = into.querySelector("details.quiet-alerts")?.open ?? false;
  const focused = document.activeElement?.closest?.("#alerts [data-key]")?.dataset.key;
  into.replaceChildren(
    ...live.flatMap((r) => r.alerts.map((a) => card(r, a, now))),
    el("details", { class: "quiet-alerts", open, "data-key": "quiet" },
      el("summary", { "data-key": "summary" }, live.length === 0 ? "All " + quiet.length + " alerts are quiet" : quiet.length + " quiet"),
      el("ul", {}, ...quiet.map((r) => el("li", { "data-alert": r.name, "data-state": "inactive", title: r.query }, dot("inactive"), short(r.name))))));
  if (focused) into.querySelector('[data-key="' + CSS.escape(focused) + '"]')?.focus();
}

function card(rule, alert, now) {
  const age = (now - Date.parse(alert.activeAt)) / 1000;
  const waits = alert.state === "pending" ? " of " + ago(rule.duration) : "";
  const key = rule.name + JSON.stringify(alert.labels);
  return el("article", { class: "alert " + alert.state, "data-alert": rule.name, "data-state": alert.state },
    el("header", {}, dot(alert.state), el("b", {}, short(rule.name)), el("span", { class: "state" }, alert.state), el("span", { class: "age" }, ago(age) + waits)),
    el("p", {}, alert.annotations.summary),
    el("footer", {},
      el("a", { href: alert.annotations.dashboard, "data-key": key + "d" }, "dashboard"),
      el("a", { href: alert.annotations.runbook_url, target: "_blank", rel: "noreferrer noopener", "data-key": key + "r" }, "runbook")));
}

const dot = (state) => el("i", { class: "dot " + state, "aria-hidden": "true" });
