// The list of episodes. Only rows in view are elements, so that long lists scroll fast.

const ROW_HEIGHT = 48; // as in viewer.css
const MARGIN_ROWS = 8;

class EpisodeList {
  // `choose` is called with the row that was clicked.
  constructor(choose) {
    this.box = byId("list");
    this.space = byId("rows");
    this.rows = [];
    this.chosen = -1;
    this.box.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()));
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.space.addEventListener("click", (event) => {
      const option = event.target.closest(".row");
      if (option) choose(this.rows[Number(option.dataset.place)]);
    });
  }

  show(rows, current) {
    this.rows = rows;
    this.space.style.height = `${rows.length * ROW_HEIGHT}px`;
    this.choose(current);
  }

  choose(row) {
    this.chosen = this.rows.indexOf(row);
    if (this.chosen < 0) this.box.removeAttribute("aria-activedescendant");
    else this.reveal();
    this.draw();
    if (this.chosen >= 0) this.box.setAttribute("aria-activedescendant", `row-${this.chosen}`);
  }

  reveal() {
    const top = this.chosen * ROW_HEIGHT;
    const view = this.box.clientHeight;
    const below = top + ROW_HEIGHT - (this.box.scrollTop + view);
    const above = this.box.scrollTop - top;
    // A step to the next row scrolls by one row; a longer jump centres the chosen row.
    if (Math.max(above, below) > 2 * ROW_HEIGHT) this.box.scrollTop = top - view / 2;
    else if (above > 0) this.box.scrollTop = top;
    else if (below > 0) this.box.scrollTop += below;
  }

  // Returns the row at a distance from the chosen one; undefined beyond the ends.
  neighbour(distance) {
    return this.rows[this.chosen < 0 ? 0 : this.chosen + distance];
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - MARGIN_ROWS);
    const count = Math.ceil(this.box.clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS;
    const options = this.rows.slice(first, first + count).map((row, i) => this.makeOption(row, first + i));
    this.space.replaceChildren(...options);
  }

  makeOption(row, place) {
    const option = make(
      "div",
      {
        id: `row-${place}`,
        class: "row",
        role: "option",
        "data-place": place,
        "aria-selected": String(place === this.chosen),
        "aria-setsize": this.rows.length,
        "aria-posinset": place + 1,
      },
      make("div", {}, make("span", {}, `${shortName(row.env)} ${row.index}/${row.sample}`), make("span", { class: "number" }, formatSigned(row.gained))),
      make("div", { class: "second" }, make("span", { class: "outcome", "data-outcome": row.outcome }, words(row.label || row.outcome)), make("span", {}, pluralize(row.turns, "turn"))),
    );
    option.style.top = `${place * ROW_HEIGHT}px`;
    return option;
  }
}
