// el makes an element: attributes by name, "on…" as listeners, children as
// nodes or text.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c != null && c !== ""));
  return node;
}

// put sets text only where it differs, so that nothing is announced twice.
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Colors by the names that the dashboards use.
const light = { green: "#2b8a4b", yellow: "#b58100", orange: "#d2691e", red: "#c8303a", blue: "#2f6fc4", text: "#5c6672" };
const dark = { green: "#5fc382", yellow: "#e6bd4a", orange: "#f0924a", red: "#f2646c", blue: "#6ea6f2", text: "#9aa5b1" };
const seriesLight = ["#2f80c9", "#d9822b", "#2b8a4b", "#8a5cc4", "#c8303a", "#0e8f8f", "#b58100", "#b04a8b", "#5c6672", "#6b8e23"];
const seriesDark = ["#63a9ee", "#f0a35a", "#6fcf92", "#b795ee", "#f2747b", "#4cc5c5", "#e6bd4a", "#e08bbf", "#aab4bf", "#a5c95c"];

export const isDark = () => document.documentElement.dataset.theme === "dark";
export const color = (name) => (isDark() ? dark : light)[name] || name;
export const seriesColor = (i) => { const c = isDark() ? seriesDark : seriesLight; return c[i % c.length]; };

// css reads one of the page's custom properties.
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
