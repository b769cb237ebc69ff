// The dashboard's variables, and their places in queries.
import { el } from "./dom.js";
import * as api from "./api.js";

const all = "$__all";

// Variables holds what is chosen. Choices come from the address (var-name=…),
// so that links between dashboards keep them.
export class Variables {
  constructor(list, changed) {
    this.list = list.filter((v) => v.type === "query");
    this.sources = list.filter((v) => v.type === "datasource"); // there is one to choose from
    this.changed = changed;
    this.chosen = {};
    this.options = {};
    const given = new URLSearchParams(location.search);
    for (const v of this.list) {
      const values = given.getAll("var-" + v.name);
      this.chosen[v.name] = values.length > 0 ? values : [].concat(v.current?.value ?? all);
    }
  }

  // fill puts variables and intervals into a query.
  fill(query, step, scrape) {
    const rate = Math.max(step + scrape, 4 * scrape);
    query = query.replaceAll("$__rate_interval", rate + "s").replaceAll("$__interval", step + "s");
    for (const v of this.list) {
      const pattern = new RegExp("\\$\\{" + v.name + "\\}|\\$" + v.name + "\\b", "g");
      query = query.replace(pattern, () => this.value(v));
    }
    return query;
  }

  value(v) {
    const chosen = this.chosen[v.name];
    if (chosen.includes(all) || chosen.length === 0) return v.allValue || ".*";
    const escaped = chosen.map((c) => c.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/["\\]/g, "\\$&"));
    return escaped.length === 1 ? escaped[0] : "(" + escaped.join("|") + ")";
  }

  // load asks which values there are: label_values(selector, label).
  async load() {
    for (const v of this.list) {
      const m = /^label_values\((.*),\s*([a-zA-Z_]\w*)\)$/.exec(v.query);
      if (m) this.options[v.name] = await api.labelValues(this.fill(m[1], 1, 1), m[2]);
    }
  }

  draw(into) {
    const signature = JSON.stringify([this.options, this.chosen]);
    if (into.contains(document.activeElement) || into.dataset.drawn === signature) return;
    into.dataset.drawn = signature;
    into.replaceChildren(...this.sources.map((v) => el("label", { class: "variable", title: v.description },
      el("span", {}, v.label || v.name), el("select", { id: "var-" + v.name }, el("option", {}, "Prometheus")))), ...this.list.map((v) => (v.multi ? this.several(v) : this.one(v))));
  }

  one(v) {
    const select = el("select", { id: "var-" + v.name, onchange: () => this.choose(v, [select.value]) });
    select.append(...this.choices(v).map(([value, text]) => el("option", { value, selected: this.chosen[v.name].includes(value) }, text)));
    return el("label", { class: "variable", title: v.description }, el("span", {}, v.label || v.name), select);
  }

  several(v) {
    const boxes = this.choices(v).map(([value, text]) => el("label", { class: "check" },
      el("input", { type: "checkbox", value, checked: this.chosen[v.name].includes(value), onchange: (e) => this.toggle(v, value, e.target.checked) }), text));
    const shown = this.chosen[v.name].includes(all) ? "All" : this.chosen[v.name].join(", ");
    return el("div", { class: "variable", title: v.description }, el("span", {}, v.label || v.name),
      el("details", { class: "several", id: "var-" + v.name }, el("summary", {}, shown), el("div", {}, ...boxes)));
  }

  // choices holds what is chosen too, though there may be no such value now.
  choices(v) {
    const known = this.options[v.name] ?? [];
    const options = [...known, ...this.chosen[v.name].filter((c) => c !== all && !known.includes(c))].map((o) => [o, o]);
    return v.includeAll ? [[all, "All"], ...options] : options;
  }

  toggle(v, value, on) {
    let chosen = this.chosen[v.name].filter((c) => c !== value && c !== all);
    if (value === all || (!on && chosen.length === 0)) chosen = [all];
    else if (on) chosen.push(value);
    this.choose(v, chosen);
    const details = document.getElementById("var-" + v.name);
    details.querySelector("summary").textContent = chosen.includes(all) ? "All" : chosen.join(", ");
    for (const box of details.querySelectorAll("input")) box.checked = chosen.includes(box.value);
  }

  choose(v, values) {
    this.chosen[v.name] = values;
    const q = new URLSearchParams(location.search);
    q.delete("var-" + v.name);
    for (const value of values) if (value !== all) q.append("var-" + v.name, value);
    history.replaceState(null, "", location.pathname + (q.size ? "?" + q : ""));
    this.changed();
  }
}
