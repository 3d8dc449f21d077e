// Light or dark: as the system has it until the button says otherwise.

const THEME = "ragen-report-theme";

function handleTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => document.documentElement.dataset.theme;
  const isDark = () => (chosen() ?? (system.matches ? "dark" : "light")) === "dark";
  const draw = () => button.setAttribute("aria-pressed", String(isDark()));

  const kept = remembered(() => localStorage.getItem(THEME));
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  draw();
  system.addEventListener("change", draw);
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remembered(() => localStorage.setItem(THEME, theme));
    draw();
  });
}

// A browser may forbid a page to keep anything; then the choice holds for as long as the page.
function remembered(act) {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return null;
  }
}
