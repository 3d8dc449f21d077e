// Light or dark theme: the system's setting until the button changes it.

const THEME = "ragen-report-theme";

function handleTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosenTheme = () => document.documentElement.dataset.theme;
  const isDark = () => (chosenTheme() ?? (system.matches ? "dark" : "light")) === "dark";
  const updateButton = () => button.setAttribute("aria-pressed", String(isDark()));

  const stored = tryStorage(() => localStorage.getItem(THEME));
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  updateButton();
  system.addEventListener("change", updateButton);
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    tryStorage(() => localStorage.setItem(THEME, theme));
    updateButton();
  });
}

// Returns null if the browser denies storage; a setting then lasts until the page is closed.
function tryStorage(action) {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return null;
  }
}
