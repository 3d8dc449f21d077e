// Which episodes are listed: by environment, outcome, failure and text.

const TYPING_PAUSE = 250; // milliseconds
const REDRAW_EVERY = 200;

class Filters {
  // `show` is called with the rows that pass, more than once while a text is searched.
  constructor(store, show) {
    this.store = store;
    this.show = show;
    this.searches = 0;
    this.pattern = null;
    const named = (values) => values.map((value) => [value, words(shortName(value))]);
    this.env = choice("filter-env", named(store.envs));
    this.outcome = choice("filter-outcome", named([...store.outcomes].sort()));
    this.label = choice("filter-label", named([...store.labels].sort()));
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
    const mine = ++this.searches;
    const wanted = [["env", this.env.value], ["outcome", this.outcome.value], ["label", this.label.value]];
    const rows = this.store.rows.filter((row) => wanted.every(([name, value]) => !value || row[name] === value));
    this.pattern = patternOf(this.text.value);
    if (this.pattern) await this.search(rows, () => mine === this.searches);
    else this.report(rows, "");
  }

  // Opens the chunks one after the other; stops when another search has begun.
  async search(rows, isLatest) {
    const chunks = Map.groupBy(rows, (row) => row.chunk);
    const hits = new Set();
    let drawn = performance.now();
    let opened = 0;
    for (const [number, inside] of chunks) {
      const episodes = await this.store.chunk(number);
      if (!isLatest()) return;
      for (const row of inside) if (holds(episodes[row.place], this.pattern)) hits.add(row);
      opened++;
      if (performance.now() - drawn > REDRAW_EVERY && opened < chunks.size) {
        this.report(rows.filter((row) => hits.has(row)), `, ${Math.round((100 * opened) / chunks.size)} % searched`);
        // Lets the browser draw and take keys.
        await new Promise((resume) => setTimeout(resume));
        drawn = performance.now();
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
    const count = rows.length === all ? counted(all, "episode") : `${rows.length.toLocaleString("en")} of ${counted(all, "episode")}`;
    byId("count").textContent = count + progress;
  }
}

function choice(id, options) {
  const select = byId(id);
  select.append(make("option", { value: "" }, "all"));
  for (const [value, name] of options) select.append(make("option", { value }, name));
  return select;
}

// Not in what an opponent read, which repeats the word and the questions in every turn.
const turnHolds = (turn, pattern) =>
  [turn.answer, turn.reasoning, turn.observation, turn.opponent?.answer, turn.opponent?.reasoning].some((text) => text?.search(pattern) >= 0);

const holds = (episode, pattern) => firstHit(episode, pattern) > 0;

// The first turn in which the pattern is found, the end included; 0 if it is not.
function firstHit(episode, pattern) {
  const turn = episode.turns.findIndex((turn) => turnHolds(turn, pattern));
  if (turn >= 0) return turn + 1;
  return episode.final_observation.search(pattern) >= 0 ? episode.turns.length + 1 : 0;
}
