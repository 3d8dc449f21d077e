// The open episode: its current turn, the buttons and the page's address.

const ADDRESS_PAUSE = 150; // milliseconds; browsers limit the rate of address changes

class Viewer {
  constructor(store) {
    this.store = store;
    this.row = this.episode = null;
    this.number = this.requests = 0;
    this.list = new EpisodeList((row) => this.open(row));
    this.filters = new Filters(store, (rows) => this.showRows(rows));
    byId("previous-turn").addEventListener("click", () => this.step(-1));
    byId("next-turn").addEventListener("click", () => this.step(1));
    byId("previous-episode").addEventListener("click", () => this.move(-1));
    byId("next-episode").addEventListener("click", () => this.move(1));
  }

  showRows(rows) {
    const stays = rows.includes(this.row);
    this.list.show(rows, this.row);
    if (!stays && rows.length) this.open(rows[0], 0, false);
    else if (stays && this.episode) this.draw(); // update the highlighted matches
    else this.updateButtons();
  }

  // Shows an episode at a turn; by default at the first match of the search, or else at turn 1.
  async open(row, number = 0, updateAddress = true) {
    if (!row) return;
    const request = ++this.requests;
    this.row = row;
    this.list.choose(row);
    const episode = await this.store.episode(row);
    if (request !== this.requests) return; // a newer request replaces this one
    this.episode = episode;
    const { pattern } = this.filters;
    this.goto(number || (pattern && findFirstMatch(episode, pattern)) || 1, updateAddress);
    byId("episode").scrollTop = 0;
  }

  goto(number, updateAddress = true) {
    const last = this.episode.turns.length + 1;
    this.number = Math.min(Math.max(number, 1), last);
    this.draw();
    clearTimeout(this.addressTimer);
    if (updateAddress) this.addressTimer = setTimeout(() => history.replaceState(null, "", hashOf(this.row, this.number)), ADDRESS_PAUSE);
    byId("announcement").textContent = this.describeTurn();
  }

  step(distance) {
    if (this.episode) this.goto(this.number + distance);
  }

  move(distance) {
    return this.open(this.list.neighbour(distance));
  }

  describeTurn() {
    const turn = this.episode.turns[this.number - 1];
    const { env, index, sample } = this.row;
    const where = `${shortName(env)}, instance ${index}, sample ${sample}`;
    if (!turn) return `${where}: the end, ${words(this.row.outcome)}`;
    const remarks = [`reward ${formatSigned(turn.reward)}`, ...findFlags(turn), ...findReplyFlags(turn)].join(", ");
    return `${where}: turn ${this.number} of ${this.episode.turns.length}, ${remarks}`;
  }

  draw() {
    const { env, index, sample, outcome, label } = this.row;
    const { episode } = this;
    byId("episode-title").textContent = `${shortName(env)}, instance ${index}, sample ${sample}`;
    const facts = [
      make("span", { class: "outcome", "data-outcome": outcome }, words(outcome)),
      label && `, ${words(label)}`,
      episode.player && `, played by ${episode.player}`,
      `, return ${formatSigned(episode.return)}${scoreOf(episode)}`,
      typeof episode.optimal_length === "number" && `, shortest solution ${pluralize(episode.optimal_length, "action")}`,
      typeof episode.ceiling === "number" && `, optimal score ${Math.round(episode.ceiling * 1e3) / 1e3}`,
    ];
    byId("episode-facts").replaceChildren(...facts.filter(Boolean));
    this.drawTurns();
    byId("turn").replaceChildren(drawTurn(episode, this.number, this.filters.pattern, buildPrompt(this.store.prompt, env, episode, this.number)));
    this.updateButtons();
  }

  // The buttons are replaced at every step, so the focus is set again.
  drawTurns() {
    const list = byId("turns");
    const hadFocus = list.contains(document.activeElement);
    list.replaceChildren(...this.makeTurnButtons());
    const current = list.querySelector("[aria-current]");
    list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
    if (hadFocus) current.focus({ preventScroll: true });
  }

  makeTurnButtons() {
    const turns = [...this.episode.turns, null];
    return turns.map((turn, i) => {
      const state = !turn ? null : turn.action_is_valid === false ? "wrong" : turn.reward > 0 ? "gain" : findReplyFlags(turn).length ? "doubtful" : null;
      const name = turn ? [`Turn ${i + 1}`, `reward ${formatSigned(turn.reward)}`, ...findReplyFlags(turn)].join(", ") : "The end";
      const current = i + 1 === this.number ? "step" : null;
      const button = make(
        "button",
        { type: "button", "data-turn": state, "aria-label": name, "aria-current": current, click: () => this.goto(i + 1) },
        turn ? String(i + 1) : "End",
      );
      return make("li", {}, button);
    });
  }

  // Not `disabled`: a button that becomes disabled loses the focus.
  updateButtons() {
    const isDisabled = {
      "previous-turn": !this.episode || this.number <= 1,
      "next-turn": !this.episode || this.number > this.episode.turns.length,
      "previous-episode": this.list.chosen <= 0,
      "next-episode": !this.list.neighbour(1),
    };
    for (const [id, disabled] of Object.entries(isDisabled)) byId(id).setAttribute("aria-disabled", String(disabled));
  }

  // Shows the episode and turn of the address; returns false if the run has no such episode.
  async follow(hash) {
    const found = /^#(.+?)\/(\d+)\/(\d+)(?:\/(\d+))?$/.exec(hash);
    const row = found && this.store.find(found[1], found[2], Number(found[3]));
    warn(found && !row ? `This run has no episode ${hash.slice(1)}.` : "");
    if (!row) return false;
    if (!this.list.rows.includes(row)) {
      this.row = row; // reset() then keeps this row chosen
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
