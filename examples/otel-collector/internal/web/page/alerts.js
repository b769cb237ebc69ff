// The alerts with their state, those that matter first.
import { el, put } from "./dom.js";
import { ago } from "./units.js";

const rank = { firing: 0, pending: 1, inactive: 2 };

// short is the name of an alert in words.
export const short = (name) => name.replace(/^Plimsoll/, "").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

// drawAlerts changes what has changed and leaves the rest, so that a link
// stays where it is while it is clicked.
export function drawAlerts(into, rules, now) {
  const sorted = [...rules].sort((a, b) => rank[a.state] - rank[b.state] || a.name.localeCompare(b.name));
  const known = new Map([...into.children].map((n) => [n.dataset.key, n]));
  const nodes = [];
  for (const rule of sorted) {
    for (const alert of rule.alerts ?? []) {
      const key = rule.name + JSON.stringify(alert.labels);
      const node = known.get(key) ?? card(rule, alert, key);
      update(node, rule, alert, now);
      nodes.push(node);
    }
  }
  const quiet = sorted.filter((r) => r.state === "inactive");
  const rest = known.get("quiet") ?? el("details", { class: "quiet-alerts", "data-key": "quiet" }, el("summary"), el("ul"));
  put(rest.firstChild, nodes.length === 0 ? "All " + quiet.length + " alerts are quiet" : quiet.length + " quiet");
  const names = quiet.map((r) => r.name).join();
  if (rest.dataset.names !== names) {
    rest.dataset.names = names;
    rest.lastChild.replaceChildren(...quiet.map((r) =>
      el("li", { "data-alert": r.name, "data-state": "inactive", title: r.query }, el("i", { class: "dot", "aria-hidden": "true" }), short(r.name))));
  }
  nodes.push(rest);
  for (const node of into.children) if (!nodes.includes(node)) node.remove();
  nodes.forEach((node, i) => into.children[i] !== node && into.insertBefore(node, into.children[i] ?? null));
}

function card(rule, alert, key) {
  return el("article", { "data-alert": rule.name, "data-key": key },
    el("header", {}, el("i", { class: "dot", "aria-hidden": "true" }), el("b", {}, short(rule.name)), el("span", { class: "state" }), el("span", { class: "age" })),
    el("p"),
    el("footer", {},
      el("a", { href: alert.annotations.dashboard }, "dashboard"),
      el("a", { href: alert.annotations.runbook_url, target: "_blank", rel: "noreferrer noopener" }, "runbook")));
}

function update(node, rule, alert, now) {
  const age = ago((now - Date.parse(alert.activeAt)) / 1000);
  node.className = "alert " + alert.state;
  node.dataset.state = alert.state;
  node.querySelector(".dot").className = "dot " + alert.state;
  put(node.querySelector(".state"), alert.state);
  put(node.querySelector(".age"), alert.state === "pending" ? age + " of " + ago(rule.duration ?? 0) : age);
  put(node.querySelector("p"), alert.annotations.summary);
}
