// Panels of type timeseries.
import { el, color, seriesColor } from "./dom.js";
import { format } from "./units.js";
import { lastNotNull } from "./frame.js";
import { Plot, swatch } from "./plot.js";

export class TimeSeries extends Plot {
  constructor(panel, body) {
    super(panel, body);
    this.order = []; // names in the order in which they came: a series keeps its color
    this.stacked = this.custom.stacking?.mode === "normal";
  }

  color(s) {
    if (this.field.color?.mode === "fixed") return color(this.field.color.fixedColor);
    let i = this.order.indexOf(s.name);
    if (i < 0) i = this.order.push(s.name) - 1;
    return seriesColor(i);
  }

  series() {
    // Areas that lie on each other would hide the lines: many are fainter.
    const faint = this.stacked ? 1 : Math.max(1, this.frame.series.length / 2);
    const opacity = Math.round((2.55 * (this.custom.fillOpacity ?? 0)) / faint).toString(16).padStart(2, "0");
    return this.frame.series.map((s) => {
      const stroke = this.color(s);
      return {
        label: s.name, stroke, width: 1.6, show: !this.hidden.has(s.name), points: { show: false },
        fill: this.custom.fillOpacity ? stroke + opacity : undefined,
      };
    });
  }

  columns() {
    if (!this.stacked) return super.columns();
    const sum = new Array(this.frame.times.length).fill(0);
    return this.frame.series.map((s) => {
      if (this.hidden.has(s.name)) return s.values;
      return s.values.map((v, i) => (v == null ? null : (sum[i] += v)));
    });
  }

  // more keeps a stacked series' area above the one below it.
  more() {
    if (!this.stacked) return {};
    const shown = this.frame.series.map((s, i) => (this.hidden.has(s.name) ? 0 : i + 1)).filter(Boolean);
    return { bands: shown.slice(1).map((above, i) => ({ series: [above, shown[i]] })) };
  }

  yRange(min, max) {
    if (min == null) [min, max] = [0, 1];
    const low = this.field.min ?? (min < 0 ? min - (max - min) * 0.08 : 0);
    if (max <= low) max = low + 1;
    return [low, this.field.max ?? max + (max - low) * 0.08];
  }

  // paint draws the thresholds, where the panel wants them.
  paint(u) {
    if (!["dashed", "line", "line+area"].includes(this.custom.thresholdsStyle?.mode)) return;
    const { ctx, bbox } = u;
    for (const step of this.field.thresholds?.steps ?? []) {
      if (step.value == null || step.value < u.scales.y.min || step.value > u.scales.y.max) continue;
      const y = Math.round(u.valToPos(step.value, "y", true));
      ctx.save();
      ctx.strokeStyle = color(step.color);
      ctx.globalAlpha = 0.8;
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([8 * devicePixelRatio, 6 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.restore();
    }
  }

  hoverRows(i) {
    return this.frame.series
      .filter((s) => !this.hidden.has(s.name) && s.values[i] != null)
      .sort((a, b) => b.values[i] - a.values[i])
      .map((s) => ({ name: s.name, color: this.color(s), text: format(s.values[i], this.field.unit) }));
  }

  // drawLegend shows each series' value at the cursor, else its last one.
  drawLegend() {
    if (this.panel.options.legend?.showLegend === false) return;
    const i = this.index();
    const names = this.frame.series.map((s) => s.name);
    if (this.legend.dataset.names !== JSON.stringify(names)) {
      this.legend.dataset.names = JSON.stringify(names);
      this.legend.replaceChildren(...this.frame.series.map((s) => el("li", {},
        el("button", { type: "button", "aria-pressed": "true", title: "Show or hide", onclick: () => this.toggle(s.name) },
          swatch("transparent"), el("span", {}, s.name), el("b", {})))));
    }
    this.frame.series.forEach((s, n) => {
      const button = this.legend.children[n].firstChild;
      button.setAttribute("aria-pressed", String(!this.hidden.has(s.name)));
      button.firstChild.style.background = this.color(s);
      const last = lastNotNull(s.values);
      button.dataset.value = last < 0 ? "" : s.values[last];
      button.dataset.time = last < 0 ? "" : this.frame.times[last];
      button.dataset.name = s.name;
      button.lastChild.textContent = format(i < 0 ? s.values[last] : s.values[i], this.field.unit);
    });
  }

  toggle(name) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.update(this.frame, this.marks);
  }
}
