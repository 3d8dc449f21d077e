// Filters of the runs: text, model, environment and outcome.

const CONTROLS = ["filter-text", "filter-model", "filter-env", "filter-outcome"];
const findRows = () => [...document.querySelectorAll("#runs tr")];
const envsOf = (row) => JSON.parse(row.dataset.envs);

function handleFilters() {
  const form = byId("filters");
  form.hidden = false;
  fillSelects();
  for (const [id, value] of Object.entries(loadSetting("filters") ?? {})) {
    byId(id).value = value;
    if (byId(id).selectedIndex === -1) byId(id).value = ""; // the option no longer exists
  }
  form.addEventListener("input", applyFilters);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("show-all").addEventListener("click", () => {
    form.reset();
    applyFilters();
  });
  applyFilters();
}

// Offers the models and environments of all runs; the current choice stays.
function fillSelects() {
  fillSelect(byId("filter-model"), findRows().map((row) => row.dataset.model), (model) => model);
  fillSelect(byId("filter-env"), findRows().flatMap(envsOf), shortName);
}

function fillSelect(select, values, format) {
  const names = [...new Set(values)].filter(Boolean).sort();
  const present = [...select.options].slice(1).map((option) => option.value);
  if (JSON.stringify(names) === JSON.stringify(present)) return;
  const chosen = select.value;
  const options = names.map((value) => make("option", { value }, format(value)));
  select.replaceChildren(make("option", { value: "" }, "any"), ...options);
  select.value = names.includes(chosen) ? chosen : "";
}

function applyFilters() {
  const [text, model, env, outcome] = CONTROLS.map((id) => byId(id).value);
  const words = text.toLowerCase().split(/\s+/);
  const rows = findRows();
  for (const row of rows) {
    row.hidden = !(
      words.every((word) => row.dataset.text.includes(word)) &&
      (!model || row.dataset.model === model) &&
      (!env || envsOf(row).includes(env)) &&
      (!outcome || row.dataset.outcomes.split(" ").includes(outcome))
    );
  }
  const matching = rows.filter((row) => !row.hidden).length;
  byId("count").textContent = matching === rows.length ? pluralize(matching, "run") : `${matching} of ${pluralize(rows.length, "run")}`;
  saveSetting("filters", Object.fromEntries(CONTROLS.map((id) => [id, byId(id).value])));
}
