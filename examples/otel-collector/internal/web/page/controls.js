// The buttons that make trouble, and the switch between the two accountings.
import { el, put } from "./dom.js";
import { ago } from "./units.js";
import * as api from "./api.js";

const buttons = [
  ["kill", "Kill parked connections", "Connections die while they are parked: two requests a second get no answer."],
  ["unavailable", "503 for 30 %", "Three answers of ten are 503."],
  ["throttle", "429 with Retry-After", "Three answers of ten are 429 with Retry-After: 1 s."],
  ["dead", "Dead upstream", "Every connection is closed at once."],
  ["healthy", "Heal", "No trouble."],
];

const says = {
  settled: {
    healthy: "Orders is well. Successful calls keep the budget full.",
    kill: "Connections die while they are parked. The pool replaces them: the callers see nothing, the budget pays nothing.",
    unavailable: "Three answers of ten are 503. Retries that help are given back; only those that fail cost tokens.",
    throttle: "Three answers of ten are 429. Calls wait as long as the server asked.",
    dead: "Nothing answers. Retries cost tokens until the breaker opens, and then calls are refused at once.",
  },
  legacy: {
    healthy: "Orders is well. Every retry of the past was charged for good.",
    kill: "Connections die while they are parked. Each costs a retry, for good: watch the tokens fall, the alert fire, and then the first failure reach a caller.",
    unavailable: "Three answers of ten are 503. Retries help and are charged all the same: the budget drains.",
    throttle: "Three answers of ten are 429. Calls wait as long as the server asked, and pay for it.",
    dead: "Nothing answers. Retries cost tokens until the breaker opens, and then calls are refused at once.",
  },
};

export class Controls {
  constructor(done, failed) {
    this.done = done;
    this.failed = failed;
    this.switch = document.getElementById("accounting");
    this.switch.addEventListener("click", () => this.press("accounting", this.switch.getAttribute("aria-checked") === "true" ? "settled" : "legacy"));
    this.buttons = buttons.map(([name, text, title]) =>
      el("button", { type: "button", title, "data-trouble": name, "aria-pressed": "false", onclick: () => this.press("trouble", name) }, text));
    document.getElementById("troubles").replaceChildren(...this.buttons);
  }

  async press(kind, name) {
    try {
      this.done(await api.control(kind, name));
    } catch (e) {
      this.failed(e);
    }
  }

  draw(state) {
    for (const b of this.buttons) {
      b.setAttribute("aria-pressed", String(b.dataset.trouble === state.trouble));
      b.disabled = !state.controls || !state.ready;
    }
    this.switch.disabled = !state.ready;
    this.switch.setAttribute("aria-checked", String(state.accounting === "legacy"));
    const line = document.getElementById("says");
    put(line, state.ready ? (state.controls ? says[state.accounting][state.trouble] : "Orders is a service of its own here; its troubles come and go.") : "The minutes before the start are being made.");
    document.getElementById("trouble-label").title = "for " + ago((Date.parse(state.now) - Date.parse(state.since)) / 1000);
  }
}
