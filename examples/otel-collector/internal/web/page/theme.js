// Runs before the page is drawn, so that it does not flash in the other theme.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* private mode: nothing is remembered */ }
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => { document.documentElement.dataset.theme = chosen || (system.matches ? "dark" : "light"); };
  apply();
  system.addEventListener("change", () => { apply(); document.dispatchEvent(new Event("themechange")); });
  window.toggleTheme = () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", chosen); } catch { /* as above */ }
    apply();
    document.dispatchEvent(new Event("themechange"));
  };
})();
