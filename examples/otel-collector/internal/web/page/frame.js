// Turns a panel's query results into columns on one time axis.

// legend fills {{label}} into a target's legend, as Grafana does.
export function legend(target, metric) {
  if (!target.legendFormat) return JSON.stringify(metric);
  return target.legendFormat.replace(/\{\{\s*([\w]+)\s*\}\}/g, (_, label) => metric[label] ?? "").replace(/\s+/g, " ").trim() || "value";
}

// frame has the times of the window and, for each series, a name and a value
// or null for each time.
export function frame(results, win) {
  const times = [];
  for (let t = win.start; t <= win.end + 1e-6; t += win.step) times.push(Math.round(t * 1000) / 1000);
  const at = new Map(times.map((t, i) => [t, i]));
  const series = [];
  for (const { target, result } of results) {
    for (const { metric, values } of result) {
      const column = new Array(times.length).fill(null);
      for (const [t, text] of values) {
        const v = text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text);
        const i = at.get(t);
        if (i !== undefined && !Number.isNaN(v)) column[i] = v;
      }
      series.push({ name: legend(target, metric), refId: target.refId, values: column });
    }
  }
  return { times, series };
}

// lastNotNull returns the index of the last value, or -1.
export function lastNotNull(values) {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] != null) return i;
  return -1;
}

// stepOf returns the threshold that v has reached.
export function stepOf(field, v) {
  let found = null;
  for (const s of field.thresholds?.steps ?? []) if (s.value == null || v >= s.value) found = s;
  return found;
}

// mapped returns the text and color that a value is mapped to, if any.
export function mapped(field, v) {
  for (const m of field.mappings ?? []) if (m.type === "value" && m.options[String(v)]) return m.options[String(v)];
  return null;
}
