// Filters of the list: environment, outcome, failure and text.

const TYPING_PAUSE = 250; // milliseconds
const REDRAW_EVERY = 200;

class Filters {
  // `show` is called with the matching rows, repeatedly during a text search.
  constructor(store, show) {
    this.store = store;
    this.show = show;
    this.searches = 0;
    this.pattern = null;
    const toOptions = (values) => values.map((value) => [value, words(shortName(value))]);
    this.env = fillSelect("filter-env", toOptions(store.envs));
    this.outcome = fillSelect("filter-outcome", toOptions([...store.outcomes].sort()));
    this.label = fillSelect("filter-label", toOptions([...store.labels].sort()));
    this.label.parentElement.hidden = !store.labels.length;
    this.text = byId("filter-text");
    for (const select of [this.env, this.outcome, this.label]) {
      select.addEventListener("change", () => this.apply());
    }
    this.text.addEventListener("input", () => {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => this.apply(), TYPING_PAUSE);
    });
    byId("filter-reset").addEventListener("click", () => this.reset());
  }

  reset() {
    for (const control of [this.env, this.outcome, this.label, this.text]) control.value = "";
    return this.apply();
  }

  async apply() {
    clearTimeout(this.pause);
    const search = ++this.searches;
    const choices = [["env", this.env.value], ["outcome", this.outcome.value], ["label", this.label.value]];
    const rows = this.store.rows.filter((row) => choices.every(([name, value]) => !value || row[name] === value));
    this.pattern = makePattern(this.text.value);
    if (this.pattern) await this.search(rows, () => search === this.searches);
    else this.report(rows, "");
  }

  // Searches chunk by chunk; stops when a newer search has begun.
  async search(rows, isLatest) {
    const chunks = Map.groupBy(rows, (row) => row.chunk);
    const hits = new Set();
    let lastReport = performance.now();
    let searched = 0;
    for (const [number, chunkRows] of chunks) {
      const episodes = await this.store.chunk(number);
      if (!isLatest()) return;
      for (const row of chunkRows) if (findFirstMatch(episodes[row.place], this.pattern)) hits.add(row);
      searched++;
      if (performance.now() - lastReport > REDRAW_EVERY && searched < chunks.size) {
        this.report(rows.filter((row) => hits.has(row)), `, ${Math.round((100 * searched) / chunks.size)} % searched`);
        // Let the browser draw and handle input.
        await new Promise((resume) => setTimeout(resume));
        lastReport = performance.now();
      }
    }
    if (isLatest()) this.report(rows.filter((row) => hits.has(row)), "");
  }

  report(rows, progress) {
    this.count(rows, progress);
    this.show(rows);
  }

  count(rows, progress = "") {
    const all = this.store.rows.length;
    const count = rows.length === all ? pluralize(all, "episode") : `${rows.length.toLocaleString("en")} of ${pluralize(all, "episode")}`;
    byId("count").textContent = count + progress;
  }
}

function fillSelect(id, options) {
  const select = byId(id);
  select.append(make("option", { value: "" }, "all"));
  for (const [value, name] of options) select.append(make("option", { value }, name));
  return select;
}

// The opponent's prompt is not searched: it repeats the word and the questions in every turn.
const turnMatches = (turn, pattern) =>
  [turn.answer, turn.reasoning, turn.observation, turn.opponent?.answer, turn.opponent?.reasoning].some((text) => text?.search(pattern) >= 0);

// Returns the number of the first matching turn, the end included; 0 without a match.
function findFirstMatch(episode, pattern) {
  const turn = episode.turns.findIndex((turn) => turnMatches(turn, pattern));
  if (turn >= 0) return turn + 1;
  return episode.final_observation.search(pattern) >= 0 ? episode.turns.length + 1 : 0;
}
