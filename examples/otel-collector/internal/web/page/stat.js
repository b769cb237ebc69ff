// Panels of type stat: one number, its color by threshold, its course behind it.
import { el, color } from "./dom.js";
import { format } from "./units.js";
import { lastNotNull, mapped, stepOf } from "./frame.js";

export class Stat {
  constructor(panel, body) {
    this.panel = panel;
    this.field = panel.fieldConfig.defaults;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.value = el("output", { class: "value" });
    body.classList.add("stat");
    body.append(this.canvas, this.value);
    new ResizeObserver(() => this.draw()).observe(body);
    document.addEventListener("themechange", () => this.frame && this.update(this.frame));
  }

  update(frame) {
    this.frame = frame;
    const s = frame.series[0];
    const last = s ? lastNotNull(s.values) : -1;
    if (last < 0) {
      this.value.textContent = this.field.noValue ?? "No data";
      this.value.removeAttribute("data-value");
      this.value.style.color = color("text");
      this.value.classList.add("none");
    } else {
      const v = s.values[last];
      this.value.classList.remove("none");
      this.value.textContent = mapped(this.field, v)?.text ?? format(v, this.field.unit);
      this.value.dataset.value = v;
      this.value.dataset.time = frame.times[last];
      this.value.style.color = color(mapped(this.field, v)?.color ?? stepOf(this.field, v)?.color ?? "text");
    }
    this.value.style.setProperty("--length", Math.max(8, this.value.textContent.length));
    this.draw();
  }

  draw() {
    const s = this.frame?.series[0];
    const ratio = devicePixelRatio, w = this.canvas.clientWidth * ratio, h = this.canvas.clientHeight * ratio;
    this.canvas.width = w;
    this.canvas.height = h;
    if (!s || this.panel.options.graphMode !== "area" || w === 0) return;
    const ctx = this.canvas.getContext("2d");
    const known = s.values.filter((v) => v != null && Number.isFinite(v));
    if (known.length < 2) return;
    const low = Math.min(this.field.min ?? Infinity, ...known), high = Math.max(...known, low + 1e-9);
    const x = (i) => (i / (s.values.length - 1)) * w;
    const y = (v) => h - 1.5 * ratio - ((v - low) / (high - low)) * (h - 3 * ratio);
    ctx.strokeStyle = ctx.fillStyle = this.value.style.color;
    ctx.lineWidth = 1.5 * ratio;
    let run = [];
    const flush = () => {
      if (run.length > 1) {
        ctx.globalAlpha = 0.7;
        ctx.beginPath();
        run.forEach(([a, b], i) => (i ? ctx.lineTo(a, b) : ctx.moveTo(a, b)));
        ctx.stroke();
        ctx.globalAlpha = 0.14;
        ctx.lineTo(run.at(-1)[0], h);
        ctx.lineTo(run[0][0], h);
        ctx.fill();
      }
      run = [];
    };
    s.values.forEach((v, i) => (v == null ? flush() : run.push([x(i), y(v)])));
    flush();
  }
}
