// What all panels over time share: size, time axis, cursor, tooltip, keys.
import { el, color, css } from "./dom.js";
import { axis, clock, steps } from "./units.js";

// Rows for the names of marks, and their height; style.css makes room for them.
const rows = 3, rowHeight = 14;

const together = uPlot.sync("time"); // one cursor for all panels

// Plot draws into body. Subclasses give series(), and optionally yRange(),
// paint(u) and hoverRows(i).
export class Plot {
  constructor(panel, body) {
    this.panel = panel;
    this.field = panel.fieldConfig.defaults;
    this.custom = this.field.custom ?? {};
    this.holder = el("div", { class: "plot", tabindex: 0, role: "img", "aria-label": panel.title + ". Arrow keys move the cursor." });
    this.tip = el("div", { class: "tip", hidden: true, "aria-live": "off" });
    this.legend = el("ul", { class: "legend" });
    body.append(this.holder, this.tip, this.legend);
    this.marks = [];
    this.names = false; // whether the names of marks stand here; set by the board
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
    this.tip.setAttribute("aria-live", "off");
    const data = [frame.times, ...this.columns()];
    const shape = JSON.stringify([frame.series.map((s) => s.name), [...this.hidden], this.named()]);
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
      padding: [this.named() ? 8 + rows * rowHeight : 8, 24, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: together.key, setSeries: false }, drag: { x: false, y: false }, points: { size: 6 }, y: false },
      scales: { x: { time: true }, y: { range: (u, min, max) => this.yRange(min, max) } },
      axes: [
        { ...look, size: 26, space: 64, values: (u, ticks) => ticks.map((t) => clock(t)) },
        // Where there is none its place is kept: all time axes line up.
        this.hasY() ? { ...look, size: 58, space: 28, ...steps(this.field.unit), values: (u, ticks) => ticks.map((v) => axis(v, this.field.unit)) }
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
    for (const m of this.marks) {
      const x = Math.round(u.valToPos(m.at, "x", true));
      ctx.strokeStyle = color(m.color);
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash(m.dashed ? [4 * devicePixelRatio, 3 * devicePixelRatio] : []);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
    if (this.named()) this.nameMarks(u);
  }

  // named tells whether the marks' names stand above this plot.
  named() { return this.names && this.holder.clientWidth > 600 && this.marks.length > 0; }

  // nameMarks writes what the marks mean above the plot, each at its line, in
  // the first row that is free there. Where all are taken it is left out.
  nameMarks(u) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = 11 * ratio + "px " + css("--font");
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.lineWidth = ratio;
    const ends = new Array(rows).fill(0); // of the text in each row
    const texts = [];
    for (const m of this.marks) {
      const x = Math.round(u.valToPos(m.at, "x", true));
      const width = ctx.measureText(m.text).width;
      const left = Math.min(x, bbox.left + bbox.width + 20 * ratio - width);
      const n = ends.findIndex((end) => end < left);
      if (n < 0) continue;
      ends[n] = left + width + 8 * ratio;
      const bottom = bbox.top - (rows - 1 - n) * rowHeight * ratio - 4 * ratio;
      texts.push({ ...m, left, bottom, width });
      ctx.strokeStyle = color(m.color);
      ctx.setLineDash(m.dashed ? [4 * ratio, 3 * ratio] : []);
      ctx.beginPath();
      ctx.moveTo(x, bottom + 3 * ratio);
      ctx.lineTo(x, bbox.top);
      ctx.stroke();
    }
    for (const t of texts) { // on the lines of others
      ctx.fillStyle = css("--panel");
      ctx.fillRect(t.left - ratio, t.bottom - 10 * ratio, t.width + 2 * ratio, 13 * ratio);
      ctx.fillStyle = color(t.color);
      ctx.fillText(t.text, t.left, t.bottom);
    }
    ctx.restore();
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
    this.tip.setAttribute("aria-live", "polite"); // what a key has moved to is read out, new data is not
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
