// What all panels over time share: size, time axis, cursor, tooltip, keys.
import { el, color, css } from "./dom.js";
import { axis, clock } from "./units.js";

const together = uPlot.sync("time"); // one cursor for all panels

// Plot draws into body. Subclasses give series(), and optionally yRange(),
// paint(u) and hoverRows(i).
export class Plot {
  constructor(panel, body) {
    this.panel = panel;
    this.field = panel.fieldConfig.defaults;
    this.custom = this.field.custom ?? {};
    this.holder = el("div", { class: "plot", tabindex: 0, role: "img", "aria-label": panel.title + ". Arrow keys move the cursor." });
    this.tip = el("div", { class: "tip", hidden: true });
    this.names = el("ul", { class: "legend" });
    body.append(this.holder, this.tip, this.names);
    this.hidden = new Set(); // names of series that were switched off
    this.hover = false;
    this.holder.addEventListener("pointerenter", () => this.hovered(true));
    this.holder.addEventListener("pointerleave", () => this.hovered(false));
    this.holder.addEventListener("focus", () => this.hovered(true));
    this.holder.addEventListener("blur", () => { this.hovered(false); this.moveTo(-1); });
    this.holder.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.resize()).observe(this.holder);
    document.addEventListener("themechange", () => { this.shape = ""; if (this.frame) this.update(this.frame, this.marks); });
  }

  update(frame, marks) {
    this.frame = frame;
    this.marks = marks;
    const data = [frame.times, ...this.columns()];
    const shape = JSON.stringify([frame.series.map((s) => s.name), [...this.hidden]]);
    if (shape !== this.shape || !this.u) {
      this.shape = shape;
      this.create(data);
    } else {
      this.u.setData(data, false);
      this.u.setScale("x", { min: frame.times[0], max: frame.times.at(-1) });
    }
    this.drawLegend();
    if (this.hover) this.drawTip();
  }

  create(data) {
    const was = this.u?.cursor.left ?? -1;
    this.u?.destroy();
    const text = css("--dim"), grid = css("--grid"), font = "11px " + css("--font");
    const look = { stroke: text, font, ticks: { stroke: grid, width: 1, size: 4 }, grid: { stroke: grid, width: 1 } };
    this.u = new uPlot({
      width: Math.max(80, this.holder.clientWidth),
      height: Math.max(60, this.holder.clientHeight),
      padding: [8, 24, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: together.key, setSeries: false }, drag: { x: false, y: false }, points: { size: 6 }, y: false },
      scales: { x: { time: true }, y: { range: (u, min, max) => this.yRange(min, max) } },
      axes: [
        { ...look, size: 26, space: 64, values: (u, ticks) => ticks.map((t) => clock(t)) },
        // Where there is none its place is kept: all time axes line up.
        this.hasY() ? { ...look, size: 58, space: 28, values: (u, ticks) => ticks.map((v) => axis(v, this.field.unit)) }
          : { size: 58, values: (u, ticks) => ticks.map(() => ""), grid: { show: false }, ticks: { show: false } },
      ],
      series: [{}, ...this.series()],
      hooks: {
        draw: [(u) => this.drawMarks(u), (u) => this.paint(u)],
        setCursor: [() => this.cursorMoved()],
      },
      ...this.more(),
    }, data, this.holder);
    this.u.setScale("x", { min: data[0][0], max: data[0].at(-1) });
    if (was >= 0) this.u.setCursor({ left: was, top: 10 });
  }

  columns() { return this.frame.series.map((s) => s.values); }
  hasY() { return true; }
  more() { return {}; }
  paint() {}
  yRange(min, max) { return [min ?? 0, max ?? 1]; }

  resize() {
    const w = this.holder.clientWidth, h = this.holder.clientHeight;
    if (this.u && w > 0 && h > 0 && (w !== this.u.width || h !== this.u.height)) this.u.setSize({ width: w, height: h });
  }

  // drawMarks draws what was done and which alerts fired, on every panel.
  drawMarks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const m of this.marks ?? []) {
      const x = Math.round(u.valToPos(m.at, "x", true));
      if (x < bbox.left) continue;
      ctx.strokeStyle = color(m.color);
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash(m.dashed ? [4 * devicePixelRatio, 3 * devicePixelRatio] : []);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    if (this.panel.gridPos.w === 24 && u.width > 600) this.nameMarks(u);
    ctx.restore();
  }

  // nameMarks writes what the marks mean, below each other where they are close.
  nameMarks(u) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio, line = 13 * ratio;
    ctx.font = 10 * ratio + "px " + css("--font");
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    const ends = []; // of the text in each line
    for (const m of [...this.marks ?? []].sort((a, b) => a.at - b.at)) {
      const x = u.valToPos(m.at, "x", true) + 4 * ratio;
      if (x < bbox.left) continue;
      const width = ctx.measureText(m.text).width;
      const from = Math.min(x, bbox.left + bbox.width - width - 2 * ratio);
      let n = ends.findIndex((end) => end < from);
      if (n < 0) n = ends.push(0) - 1;
      if (n > 4) continue;
      ends[n] = from + width + 6 * ratio;
      ctx.fillStyle = color(m.color);
      ctx.strokeStyle = css("--panel");
      ctx.lineWidth = 3 * ratio;
      ctx.setLineDash([]);
      ctx.strokeText(m.text, from, bbox.top + (n + 1) * line);
      ctx.fillText(m.text, from, bbox.top + (n + 1) * line);
    }
  }

  hovered(on) {
    this.hover = on || document.activeElement === this.holder;
    this.drawTip();
  }

  cursorMoved() {
    this.drawLegend();
    this.drawTip();
  }

  // index returns where the cursor is, or -1.
  index() {
    const i = this.u?.cursor.idx;
    return this.u && this.u.cursor.left >= 0 && i != null ? i : -1;
  }

  moveTo(i) {
    if (!this.u) return;
    const x = i < 0 ? -10 : this.u.valToPos(this.frame.times[i], "x");
    this.u.setCursor({ left: x, top: i < 0 ? -10 : 10 }, true, true);
  }

  key(e) {
    const n = this.frame?.times.length ?? 0;
    const now = this.index() < 0 ? n - 1 : this.index();
    const to = { ArrowLeft: now - (e.shiftKey ? 10 : 1), ArrowRight: now + (e.shiftKey ? 10 : 1), Home: 0, End: n - 1, Escape: -1 }[e.key];
    if (to === undefined || n === 0) return;
    e.preventDefault();
    this.moveTo(to < 0 && e.key !== "Escape" ? 0 : Math.min(to, n - 1));
  }

  drawTip() {
    const i = this.index();
    this.tip.hidden = !this.hover || i < 0;
    if (this.tip.hidden) return;
    this.tip.replaceChildren(el("time", {}, clock(this.frame.times[i])), ...this.hoverRows(i).map((r) =>
      el("div", {}, swatch(r.color), el("span", {}, r.name), el("b", {}, r.text))));
    const left = this.u.cursor.left + this.u.bbox.left / devicePixelRatio;
    const w = this.tip.offsetWidth;
    const beside = left + 14 + w > this.holder.clientWidth ? left - w - 14 : left + 14;
    this.tip.style.left = Math.max(0, beside) + "px";
    this.tip.style.top = this.holder.offsetTop + 8 + "px";
  }
}

export function swatch(c) {
  const s = el("i", { class: "swatch", "aria-hidden": "true" });
  s.style.background = c;
  return s;
}
