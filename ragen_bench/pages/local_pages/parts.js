export const find = (id) => document.getElementById(id);

export function element(name, text = "", kind = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

export function button(text, pressed) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", pressed);
  return made;
}

// Pairs of a name and what it is, in a <dl>.
export function figures(place, pairs) {
  const rows = pairs.map(([name, value]) => {
    const row = element("div");
    row.append(element("dt", name), element("dd", value));
    return row;
  });
  find(place).replaceChildren(...rows);
}

// With a minus sign of the width of a plus, and no minus before a zero.
export const number = (value, digits = 2) => {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "\u2212");
};

export function table(caption, heads, rows) {
  const made = element("table");
  made.append(element("caption", caption));
  const line = (cells, name) => {
    const row = element("tr");
    row.append(...cells.map((cell) => element(name, cell)));
    return row;
  };
  const head = element("thead");
  head.append(line(heads, "th"));
  head.querySelectorAll("th").forEach((cell) => { cell.scope = "col"; });
  const body = element("tbody");
  body.append(...rows.map((cells) => line(cells, "td")));
  made.append(head, body);
  return made;
}
