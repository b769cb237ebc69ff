// Values as Grafana shows them, by the unit of a field.

const digits = (v, max = 2) => {
  const a = Math.abs(v);
  return a >= 100 ? 0 : a >= 10 ? Math.min(1, max) : max;
};

// plain drops zeros at the end: 5.00 is 5.
const plain = (v, n) => v.toFixed(n).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "").replace(/^-0$/, "0");

function scaled(v, steps, base) {
  let i = 0;
  while (Math.abs(v) >= base && i < steps.length - 1) { v /= base; i++; }
  return plain(v, digits(v)) + steps[i];
}

function seconds(v) {
  const a = Math.abs(v);
  if (a === 0) return "0 s";
  if (a < 1e-3) return plain(v * 1e6, digits(v * 1e6, 1)) + " µs";
  if (a < 1) return plain(v * 1e3, digits(v * 1e3)) + " ms";
  if (a < 120) return plain(v, digits(v)) + " s";
  return minutes(v / 60);
}

function minutes(v) {
  const a = Math.abs(v);
  if (a < 1) return plain(v * 60, 0) + " s";
  if (a < 120) return plain(v, digits(v, 1)) + " min";
  if (a < 60 * 24) return plain(v / 60, 1) + " h";
  return plain(v / 60 / 24, 1) + " d";
}

export function format(v, unit = "short") {
  if (v == null || Number.isNaN(v)) return "–";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  if (unit.startsWith("suffix:")) return plain(v, digits(v, 1)) + " " + unit.slice(7).trim();
  switch (unit) {
    case "percentunit": return plain(v * 100, digits(v * 100)) + "%";
    case "s": return seconds(v);
    case "m": return minutes(v);
    case "reqps": return scaled(v, ["", "k", "M"], 1000) + " req/s";
    case "ops": return scaled(v, ["", "k", "M"], 1000) + "/s";
    case "eps": return scaled(v, ["", "k", "M"], 1000) + " ev/s";
    case "Bps": return scaled(v, [" B/s", " kB/s", " MB/s", " GB/s"], 1000);
    case "none": return plain(v, digits(v));
    default: return scaled(v, ["", "k", "M", "G"], 1000);
  }
}

// axis is format without the words that each tick would repeat.
export function axis(v, unit = "short") {
  if (unit.startsWith("suffix:")) return scaled(v, ["", "k", "M"], 1000);
  return format(v, unit).replace(/( req| ev)?\/s$/, (m) => (unit === "Bps" ? m : ""));
}

// steps are the distances between an axis' ticks, where tens are odd.
export const steps = (unit) => (unit === "m" ? { incrs: [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440, 2880] } : {});

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });

// ago says how long something lasts.
export function ago(s) {
  if (s < 60) return Math.max(0, Math.floor(s)) + " s";
  return Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
}
