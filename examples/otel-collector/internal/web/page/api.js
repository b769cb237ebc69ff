// What the page asks its server.

async function get(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error || path + ": " + answer.status);
  return body;
}

export const boards = () => get("/api/dashboards");
export const board = (uid) => get("/api/dashboards/" + encodeURIComponent(uid));
export const state = () => get("/api/state");
export const traces = (eventful) => get("/api/traces?eventful=" + (eventful ? 1 : 0));
export const rules = async () => (await get("/api/v1/rules?type=alert")).data.groups.flatMap((g) => g.rules);

export async function range(query, start, end, step) {
  const q = new URLSearchParams({ query, start, end, step });
  return (await get("/api/v1/query_range?" + q)).data.result;
}

export async function labelValues(selector, label) {
  const q = new URLSearchParams({ "match[]": selector });
  return (await get("/api/v1/label/" + encodeURIComponent(label) + "/values?" + q)).data;
}

export async function control(kind, name) {
  const answer = await fetch("/control/" + kind + "/" + name, { method: "POST" });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}
