// A button that plays an action.
export const actionButton = (action, label, act, pressed = false) =>
  make("button", { type: "button", "data-action": action, "aria-pressed": pressed, click: () => act(action) }, label);

// Shows pairs of name and value in a <dl>.
export function showMetrics(place, pairs) {
  const rows = pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  byId(place).replaceChildren(...rows);
}

// Formats with two decimals, a true minus sign, and no minus before zero.
export const formatNumber = (value) => {
  const text = value.toFixed(2);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "\u2212");
};

// Makes a table of two columns, a text and a number.
export function makeTable(caption, heads, rows) {
  const line = (cells, tag, scope) =>
    make("tr", {}, ...cells.map((cell, place) => make(tag, { scope, class: place ? null : "text" }, cell)));
  const head = make("thead", {}, line(heads, "th", "col"));
  const body = make("tbody", {}, ...rows.map((cells) => line(cells, "td", null)));
  return make("table", {}, make("caption", {}, caption), head, body);
}
