// Entries that do not fit are hidden; a ranking of which none is left goes with them.

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
  for (const row of rows) row.hidden = !FILTERS.every((name) => fits(row, name));
  for (const board of document.querySelectorAll(".board")) {
    board.hidden = !board.querySelector(".ranking tbody tr:not([hidden])");
  }
  const left = rows.filter((row) => !row.hidden).length;
  byId("count").textContent = `${left} of ${rows.length} entries`;
  byId("nothing").hidden = left > 0;
}

// Floor and ceiling have no size and stay as the frame of what is left.
function fits(row, name) {
  const wanted = byId(`filter-${name}`).value;
  return wanted === "" || row.dataset[name] === wanted || (name === "size" && "scripted" in row.dataset);
}
