// Hides entries that do not match the filters, and suites without a visible entry.

function handleFilters() {
  const form = byId("filters");
  form.hidden = false;
  form.addEventListener("input", applyFilters);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("show-all").addEventListener("click", () => {
    form.reset();
    applyFilters();
    form.elements[0].focus();
  });
  applyFilters();
}

function applyFilters() {
  const rows = [...document.querySelectorAll("table.ranking tbody tr")];
  const chosen = [...new FormData(byId("filters"))].filter(([, choice]) => choice !== "");
  for (const row of rows) row.hidden = !chosen.every(([name, choice]) => matches(row, name, choice));
  for (const board of document.querySelectorAll(".board")) {
    board.hidden = !board.querySelector(".ranking tbody tr:not([hidden])");
  }
  const matching = rows.filter((row) => !row.hidden).length;
  byId("count").textContent = `${matching} of ${rows.length} entries`;
  byId("nothing").hidden = matching > 0;
}

// The random player, the oracle and people stay whatever size and date are chosen, as baselines.
function matches(row, name, choice) {
  if ("baseline" in row.dataset && (name === "size" || name === "since")) return true;
  return name === "since" ? row.dataset.since >= choice : row.dataset[name] === choice;
}
