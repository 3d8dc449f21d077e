// A button that plays an action.
export const actionButton = (action, label, act, pressed = false) =>
  make("button", { type: "button", "data-action": action, "aria-pressed": pressed, click: () => act(action) }, label);

// Pairs of a name and what it is, in a <dl>.
export function figures(place, pairs) {
  const rows = pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  byId(place).replaceChildren(...rows);
}

// With a minus sign of the width of a plus, and no minus before a zero.
export const number = (value) => {
  const text = value.toFixed(2);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "\u2212");
};

// Of two columns: a text and a number.
export function table(caption, heads, rows) {
  const line = (cells, tag, scope) =>
    make("tr", {}, ...cells.map((cell, place) => make(tag, { scope, class: place ? null : "text" }, cell)));
  const head = make("thead", {}, line(heads, "th", "col"));
  const body = make("tbody", {}, ...rows.map((cells) => line(cells, "td", null)));
  return make("table", {}, make("caption", {}, caption), head, body);
}
