// Panels of type state-timeline: a bar per series, a color per state.
import { el, color, css } from "./dom.js";
import { format } from "./units.js";
import { lastNotNull, mapped, stepOf } from "./frame.js";
import { Plot, swatch } from "./plot.js";

export class Timeline extends Plot {
  hasY() { return false; }
  series() { return this.frame.series.map((s) => ({ label: s.name, paths: () => null, points: { show: false } })); }
  yRange() { return [0, 1]; }

  look(v) {
    const m = mapped(this.field, v);
    const step = stepOf(this.field, v);
    return { text: m?.text ?? format(v, this.field.unit), color: color(m?.color ?? step?.color ?? "blue") };
  }

  paint(u) {
    const { ctx, bbox } = u;
    const { times, series } = this.frame;
    const row = bbox.height / Math.max(1, series.length);
    ctx.save();
    ctx.font = 11 * devicePixelRatio + "px " + css("--font");
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    series.forEach((s, n) => {
      const top = bbox.top + n * row + 2 * devicePixelRatio;
      const height = Math.max(4, row - 5 * devicePixelRatio) * 0.9;
      for (let i = 0; i < times.length;) {
        let end = i;
        while (end < times.length && s.values[end] === s.values[i]) end++;
        if (s.values[i] != null) {
          const x = u.valToPos(times[i], "x", true);
          const to = Math.min(u.valToPos(times[Math.min(end, times.length - 1)], "x", true), bbox.left + bbox.width);
          ctx.fillStyle = this.look(s.values[i]).color;
          ctx.globalAlpha = (this.custom.fillOpacity ?? 80) / 100;
          ctx.fillRect(x, top, Math.max(1, to - x), height);
        }
        i = end;
      }
      // The name, on a ground of its own: what is below it has any color.
      const x = bbox.left + 4 * devicePixelRatio, middle = top + height / 2;
      ctx.globalAlpha = 0.88;
      ctx.fillStyle = css("--panel");
      ctx.fillRect(x, middle - 7 * devicePixelRatio, ctx.measureText(s.name).width + 8 * devicePixelRatio, 14 * devicePixelRatio);
      ctx.globalAlpha = 1;
      ctx.fillStyle = css("--text");
      ctx.fillText(s.name, x + 4 * devicePixelRatio, middle + 4 * devicePixelRatio);
    });
    ctx.restore();
  }

  hoverRows(i) {
    return this.frame.series.filter((s) => s.values[i] != null).map((s) => ({ name: s.name, ...this.look(s.values[i]) }));
  }

  // drawLegend shows what the colors mean, and each series' state.
  drawLegend() {
    const i = this.index();
    this.legend.replaceChildren(...this.frame.series.map((s) => {
      const last = lastNotNull(s.values);
      const v = i < 0 ? s.values[last] : s.values[i];
      const look = v == null ? { color: "transparent", text: "–" } : this.look(v);
      const item = el("span", { class: "item", "data-name": s.name, "data-value": last < 0 ? "" : s.values[last], "data-time": last < 0 ? "" : this.frame.times[last] },
        swatch(look.color), el("span", {}, s.name), el("b", {}, look.text));
      return el("li", {}, item);
    }));
  }
}
