// A dashboard: rows that fold, panels on Grafana's grid of 24 columns.
import { el } from "./dom.js";
import * as api from "./api.js";
import { frame } from "./frame.js";
import { Stat } from "./stat.js";
import { TimeSeries } from "./timeseries.js";
import { Timeline } from "./timeline.js";

const kinds = { stat: Stat, timeseries: TimeSeries, "state-timeline": Timeline };

export class Board {
  constructor(json, into) {
    this.panels = [];
    this.visible = new IntersectionObserver((entries) => {
      for (const e of entries) this.panels.find((p) => p.node === e.target).seen = e.isIntersecting;
      this.onseen?.();
    }, { rootMargin: "200px" });
    into.replaceChildren();
    let grid = null;
    for (const p of json.panels) {
      if (p.type === "row") {
        grid = this.row(p, into);
        for (const inner of p.panels ?? []) this.panel(inner, grid);
        continue;
      }
      grid ??= into.appendChild(el("div", { class: "grid" }));
      this.panel(p, grid);
    }
  }

  row(p, into) {
    const grid = el("div", { class: "grid", id: "row-" + p.id });
    const button = el("button", { type: "button", "aria-expanded": String(!p.collapsed), "aria-controls": grid.id }, p.title);
    grid.hidden = p.collapsed;
    button.addEventListener("click", () => {
      grid.hidden = !grid.hidden;
      button.setAttribute("aria-expanded", String(!grid.hidden));
      this.onseen?.();
    });
    into.append(el("section", { class: "row", "data-title": p.title }, el("h2", {}, button), grid));
    return grid;
  }

  panel(p, grid) {
    const Kind = kinds[p.type];
    const body = el("div", { class: "body" });
    const explains = el("p", { class: "explains", id: "explains-" + p.id, hidden: true }, p.description);
    const problem = el("p", { class: "panel-problem", hidden: true });
    const node = el("article", { class: "panel " + p.type, "data-id": p.id, "data-title": p.title, "data-state": "waiting", "aria-label": p.title },
      el("header", {},
        el("h3", {}, el("button", {
          type: "button", title: p.description, "aria-expanded": "false", "aria-controls": "explains-" + p.id,
          onclick: (e) => {
            explains.hidden = !explains.hidden;
            e.currentTarget.setAttribute("aria-expanded", String(!explains.hidden));
          },
        }, p.title)),
        ...(p.links ?? []).map((l) => el("a", { href: l.url, target: l.targetBlank ? "_blank" : null, rel: "noreferrer noopener", title: l.title + ": " + l.tooltip, "aria-label": l.title + " of " + p.title }, "?"))),
      explains, body, problem);
    node.style.setProperty("--w", p.gridPos.w);
    node.style.setProperty("--h", p.gridPos.h);
    grid.append(node);
    if (!Kind) {
      problem.hidden = false;
      problem.textContent = "Panels of type " + p.type + " are not drawn here.";
      node.dataset.state = "error";
      return;
    }
    const view = new Kind(p, body);
    // The first plot of the whole width names the marks for all below it.
    if (p.gridPos.w === 24 && p.type !== "stat" && !this.panels.some((o) => o.view.names)) {
      view.names = true;
      node.classList.add("names");
    }
    this.panels.push({ json: p, node, problem, view, seen: false, last: "" });
    this.visible.observe(node);
  }

  // load asks for the panels that can be seen.
  load(win, variables, scrape, marks) {
    return Promise.all(this.panels.filter((p) => p.seen && !p.node.closest(".grid").hidden).map(async (p) => {
      try {
        const results = await Promise.all(p.json.targets.map(async (target) => ({
          target, result: await api.range(variables.fill(target.expr, win.step, scrape), win.start, win.end, win.step),
        })));
        const data = frame(results, win);
        p.view.update(data, marks);
        p.problem.hidden = true;
        const none = data.series.every((s) => s.values.every((v) => v == null));
        p.node.dataset.state = none ? "empty" : "ok";
        p.node.dataset.end = win.end;
        this.empty(p, none);
      } catch (e) {
        p.problem.hidden = false;
        p.problem.textContent = e.message;
        p.node.dataset.state = "error";
      }
    }));
  }

  empty(p, none) {
    if (p.json.type === "stat") return;
    p.problem.hidden = !none;
    p.problem.textContent = p.json.fieldConfig.defaults.noValue ?? "No data";
  }
}
