// The open episode: which turn is shown, the buttons, and the address that names it.

const NAMING_PAUSE = 150; // milliseconds; browsers refuse a page that renames itself too often

class Viewer {
  constructor(store) {
    this.store = store;
    this.row = this.episode = null;
    this.number = this.opening = 0;
    this.list = new EpisodeList((row) => this.open(row));
    this.filters = new Filters(store, (rows) => this.listed(rows));
    byId("previous-turn").addEventListener("click", () => this.step(-1));
    byId("next-turn").addEventListener("click", () => this.step(1));
    byId("previous-episode").addEventListener("click", () => this.move(-1));
    byId("next-episode").addEventListener("click", () => this.move(1));
  }

  listed(rows) {
    const stays = rows.includes(this.row);
    this.list.show(rows, this.row);
    if (!stays && rows.length) this.open(rows[0], 0, false);
    else if (stays && this.episode) this.draw(); // what the search found is marked anew
    else this.buttons();
  }

  // Show an episode at a turn; without one at the first, or where the search found its text.
  async open(row, number = 0, naming = true) {
    if (!row) return;
    const mine = ++this.opening;
    this.row = row;
    this.list.choose(row);
    const episode = await this.store.episode(row);
    if (mine !== this.opening) return; // another one was opened meanwhile
    this.episode = episode;
    const { pattern } = this.filters;
    this.goto(number || (pattern && firstHit(episode, pattern)) || 1, naming);
    byId("episode").scrollTop = 0;
  }

  goto(number, naming = true) {
    const last = this.episode.turns.length + 1;
    this.number = Math.min(Math.max(number, 1), last);
    this.draw();
    clearTimeout(this.naming);
    if (naming) this.naming = setTimeout(() => history.replaceState(null, "", hashOf(this.row, this.number)), NAMING_PAUSE);
    byId("said").textContent = this.said();
  }

  step(distance) {
    if (this.episode) this.goto(this.number + distance);
  }

  move(distance) {
    return this.open(this.list.neighbour(distance));
  }

  said() {
    const turn = this.episode.turns[this.number - 1];
    const { env, index, sample } = this.row;
    const where = `${shortName(env)}, instance ${index}, sample ${sample}`;
    if (!turn) return `${where}: the end, ${words(this.row.outcome)}`;
    const remarks = [`reward ${signed(turn.reward)}`, ...flagsOf(turn), ...replyFlagsOf(turn)].join(", ");
    return `${where}: turn ${this.number} of ${this.episode.turns.length}, ${remarks}`;
  }

  draw() {
    const { env, index, sample, outcome, label } = this.row;
    const { episode } = this;
    byId("episode-title").textContent = `${shortName(env)}, instance ${index}, sample ${sample}`;
    const facts = [
      make("span", { class: "outcome", "data-outcome": outcome }, words(outcome)),
      label && `, ${words(label)}`,
      `, return ${signed(episode.return)}${scoreOf(episode)}`,
      typeof episode.optimal_length === "number" && `, shortest solution ${counted(episode.optimal_length, "action")}`,
      typeof episode.ceiling === "number" && `, best player scores ${Math.round(episode.ceiling * 1e3) / 1e3}`,
    ];
    byId("episode-facts").replaceChildren(...facts.filter(Boolean));
    this.drawTurns();
    byId("turn").replaceChildren(drawTurn(episode, this.number, this.filters.pattern, sentFor(this.store.prompt, env, episode, this.number)));
    this.buttons();
  }

  // The buttons are made anew at every step, so the focus has to follow.
  drawTurns() {
    const list = byId("turns");
    const hadFocus = list.contains(document.activeElement);
    list.replaceChildren(...this.turnButtons());
    const current = list.querySelector("[aria-current]");
    list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
    if (hadFocus) current.focus({ preventScroll: true });
  }

  turnButtons() {
    const turns = [...this.episode.turns, null];
    return turns.map((turn, i) => {
      const state = !turn ? null : turn.action_is_valid === false ? "wrong" : turn.reward > 0 ? "gain" : replyFlagsOf(turn).length ? "doubtful" : null;
      const name = turn ? [`Turn ${i + 1}`, `reward ${signed(turn.reward)}`, ...replyFlagsOf(turn)].join(", ") : "The end";
      const current = i + 1 === this.number ? "step" : null;
      const button = make(
        "button",
        { type: "button", "data-turn": state, "aria-label": name, "aria-current": current, click: () => this.goto(i + 1) },
        turn ? String(i + 1) : "End",
      );
      return make("li", {}, button);
    });
  }

  // Not `disabled`, which would take the focus away from who steps to the end.
  buttons() {
    const off = {
      "previous-turn": !this.episode || this.number <= 1,
      "next-turn": !this.episode || this.number > this.episode.turns.length,
      "previous-episode": this.list.chosen <= 0,
      "next-episode": !this.list.neighbour(1),
    };
    for (const [id, is] of Object.entries(off)) byId(id).setAttribute("aria-disabled", String(is));
  }

  // Show what the address names; false if it names no episode of this run.
  async follow(hash) {
    const found = /^#(.+?)\/(\d+)\/(\d+)(?:\/(\d+))?$/.exec(hash);
    const row = found && this.store.find(found[1], found[2], Number(found[3]));
    warn(found && !row ? `This run holds no episode ${hash.slice(1)}.` : "");
    if (!row) return false;
    if (!this.list.rows.includes(row)) {
      this.row = row; // so that the list is shown with it
      this.episode = null;
      await this.filters.reset();
    }
    await this.open(row, Number(found[4] ?? 1), false);
    byId("viewer").scrollIntoView();
    byId("episode").focus({ preventScroll: true });
    return true;
  }
}

const hashOf = (row, number) => `#${row.env}/${row.index}/${row.sample}/${number}`;
