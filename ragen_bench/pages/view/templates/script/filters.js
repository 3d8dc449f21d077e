// Which runs are listed: by text, model, environment and outcome.

const CONTROLS = ["filter-text", "filter-model", "filter-env", "filter-outcome"];
const listed = () => [...document.querySelectorAll("#runs tr")];
const envsOf = (row) => JSON.parse(row.dataset.envs);

function handleFilters() {
  const form = byId("filters");
  form.hidden = false;
  offerChoices();
  for (const [id, value] of Object.entries(kept("filters") ?? {})) {
    byId(id).value = value;
    if (byId(id).selectedIndex === -1) byId(id).value = ""; // a choice that has gone
  }
  form.addEventListener("input", applyFilters);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("show-all").addEventListener("click", () => {
    form.reset();
    applyFilters();
  });
  applyFilters();
}

// Models and environments of all runs; what is chosen stays so.
function offerChoices() {
  offer(byId("filter-model"), listed().map((row) => row.dataset.model), (model) => model);
  offer(byId("filter-env"), listed().flatMap(envsOf), shortName);
}

function offer(select, values, named) {
  const wanted = [...new Set(values)].filter(Boolean).sort();
  const there = [...select.options].slice(1).map((option) => option.value);
  if (JSON.stringify(wanted) === JSON.stringify(there)) return;
  const chosen = select.value;
  const options = wanted.map((value) => make("option", { value }, named(value)));
  select.replaceChildren(make("option", { value: "" }, "any"), ...options);
  select.value = wanted.includes(chosen) ? chosen : "";
}

function applyFilters() {
  const [text, model, env, outcome] = CONTROLS.map((id) => byId(id).value);
  const words = text.toLowerCase().split(/\s+/);
  const rows = listed();
  for (const row of rows) {
    row.hidden = !(
      words.every((word) => row.dataset.text.includes(word)) &&
      (!model || row.dataset.model === model) &&
      (!env || envsOf(row).includes(env)) &&
      (!outcome || row.dataset.outcomes.split(" ").includes(outcome))
    );
  }
  const left = rows.filter((row) => !row.hidden).length;
  byId("count").textContent = left === rows.length ? pluralize(left, "run") : `${left} of ${pluralize(rows.length, "run")}`;
  keep("filters", Object.fromEntries(CONTROLS.map((id) => [id, byId(id).value])));
}
