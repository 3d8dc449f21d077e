// Hides entries that do not match the filters, and rankings without a visible entry.

const FILTERS = ["size", "split", "verified", "reproduced", "answers"];

function handleFilters() {
  const form = byId("filters");
  form.hidden = false;
  form.addEventListener("input", applyFilters);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("show-all").addEventListener("click", () => {
    form.reset();
    applyFilters();
    byId("filter-size").focus();
  });
  applyFilters();
}

function applyFilters() {
  const rows = [...document.querySelectorAll("table.ranking tbody tr")];
  for (const row of rows) row.hidden = !FILTERS.every((name) => matches(row, name));
  for (const board of document.querySelectorAll(".board")) {
    board.hidden = !board.querySelector(".ranking tbody tr:not([hidden])");
  }
  const matching = rows.filter((row) => !row.hidden).length;
  byId("count").textContent = `${matching} of ${rows.length} entries`;
  byId("nothing").hidden = matching > 0;
}

// The random player and the oracle have no size; a size filter keeps them as baselines.
function matches(row, name) {
  const choice = byId(`filter-${name}`).value;
  return choice === "" || row.dataset[name] === choice || (name === "size" && "scripted" in row.dataset);
}
