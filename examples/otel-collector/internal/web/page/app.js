// The page: what is shown, and when it is asked for again.
import { el, put } from "./dom.js";
import * as api from "./api.js";
import { Variables } from "./variables.js";
import { Board } from "./board.js";
import { Controls } from "./controls.js";
import { drawAlerts, short } from "./alerts.js";
import { drawTraces } from "./traces.js";

const by = (id) => document.getElementById(id);
const ranges = [["1 min", 60], ["3 min", 180], ["10 min", 600], ["30 min", 1800]];
const uid = decodeURIComponent(location.pathname.split("/")[2] ?? "");

const asked = Number(new URLSearchParams(location.search).get("range"));
let seconds = asked >= 10 && asked <= 86400 ? asked : 180;
let board, variables, state, timer;
let turn = 0;

const problem = (e) => {
  by("problem").hidden = !e;
  put(by("problem"), e ? e.message : "");
};

function drawRanges() {
  by("ranges").replaceChildren(...ranges.map(([text, s]) => el("button", {
    type: "button", "aria-pressed": String(s === seconds), onclick: () => {
      seconds = s;
      const q = new URLSearchParams(location.search);
      q.set("range", s);
      history.replaceState(null, "", location.pathname + "?" + q);
      drawRanges();
      soon();
    },
  }, text)));
}

function drawBoards(list) {
  by("boards").replaceChildren(...list.map((b) => el("a", {
    href: "/d/" + b.uid + location.search, "aria-current": b.uid === uid ? "page" : null,
    onclick: (e) => { e.currentTarget.search = location.search; },
  }, b.title)));
  by("boards").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

// windowNow is the time that all panels show, on whole steps. It ends where
// nothing changes any more; while the past is made, at the present.
function windowNow() {
  const step = Math.max(state.interval, Math.ceil(seconds / 360 / state.interval) * state.interval);
  const end = Math.floor(Date.parse(state.ready ? state.settled : state.now) / 1000 / step) * step;
  return { start: end - Math.floor(seconds / step) * step, end, step };
}

const names = {
  healthy: "heal", kill: "connections die", unavailable: "503 for 30 %", throttle: "429", dead: "dead upstream",
  settled: "settled accounting", legacy: "legacy accounting",
};

// marks are what was done, and where the alerts that lead to this dashboard
// fired.
async function marks(win, rules) {
  const done = state.changes.map((c) => ({
    at: Date.parse(c.at) / 1000, text: names[c.what] ?? c.what, color: c.what === "healthy" || c.what === "settled" ? "green" : "blue",
  }));
  const own = rules.filter((r) => r.annotations?.dashboard === "/d/" + uid).map((r) => r.name);
  const fired = own.length === 0 ? [] : await api.range('max by (alertname) (ALERTS{alertstate="firing",alertname=~"' + own.join("|") + '"})', win.start, win.end, win.step);
  for (const { metric, values } of fired) {
    values.forEach(([t], i) => {
      const goesOn = i === 0 ? t === win.start : t - values[i - 1][0] < win.step * 1.5;
      if (!goesOn) done.push({ at: t, text: short(metric.alertname) + " fires", color: "red", dashed: true });
    });
  }
  return done.filter((m) => m.at >= win.start && m.at <= win.end).sort((a, b) => a.at - b.at);
}

async function look() {
  state = await api.state();
  controls.draw(state);
  const win = windowNow();
  const [rules, list] = await Promise.all([api.rules(), state.traces ? api.traces(by("eventful").checked) : []]);
  drawAlerts(by("alerts"), rules, Date.parse(state.now));
  if (state.traces) drawTraces(by("traces"), list);
  else put(by("traces"), "Traces go to the collector outside.");
  if (turn++ % 10 === 0) await variables.load();
  variables.draw(by("variables"));
  await board.load(win, variables, state.interval, await marks(win, rules));
  document.documentElement.dataset.drawn = win.end;
}

// again looks, and once more after an interval; hidden pages do not. Whoever
// calls while it looks gets another look right after.
let busy = false, wanted = false;
async function again() {
  wanted = busy;
  if (busy) return;
  busy = true;
  clearTimeout(timer);
  if (!document.hidden) {
    try {
      await look();
      problem(null);
    } catch (e) {
      problem(new Error("The demonstration does not answer: " + e.message));
    }
  }
  busy = false;
  timer = setTimeout(again, wanted ? 0 : Math.max(250, (state?.interval ?? 1) * 1000));
}

// soon looks at once; there is nothing to look at before the board is there.
function soon() {
  if (board) again();
}

const controls = new Controls((s) => { state = s; controls.draw(s); problem(null); }, problem);
by("theme").addEventListener("click", () => window.toggleTheme());
by("eventful").addEventListener("change", soon);
document.addEventListener("visibilitychange", () => document.hidden || soon());

// What lies over the panels goes away by Escape and by a click elsewhere.
function close(target) {
  for (const d of document.querySelectorAll(".several[open]")) if (!d.contains(target)) d.open = false;
  for (const b of document.querySelectorAll('.panel h3 button[aria-expanded="true"]')) if (b !== target) b.click();
}
document.addEventListener("pointerdown", (e) => e.target.closest(".explains") || close(e.target));
document.addEventListener("keydown", (e) => {
  if (e.key !== "Escape") return;
  const inside = document.activeElement.closest(".several");
  close(null);
  inside?.querySelector("summary").focus();
});

drawRanges();
const [list, json] = await Promise.all([api.boards(), api.board(uid)]);
drawBoards(list);
document.title = json.title + " · plimsoll";
put(by("title"), json.title);
put(by("description"), json.description);
variables = new Variables(json.templating.list, soon);
board = new Board(json, by("rows"));
board.onseen = soon;
await again();
