// Adds a sort button to each column head. Without scripts, rows are in the order of the ranks.

function handleSorting() {
  for (const table of document.querySelectorAll("table.ranking")) {
    for (const head of table.tHead.rows[0].cells) addButton(table, head);
  }
}

function addButton(table, head) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sort";
  button.append(...head.childNodes);
  button.addEventListener("click", () => sort(table, head));
  head.append(button);
}

// The first click sorts numbers in descending, ranks and texts in ascending order; the next reverses.
function sort(table, head) {
  const first = head.dataset.first;
  const other = first === "ascending" ? "descending" : "ascending";
  const order = head.getAttribute("aria-sort") === first ? other : first;
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.sort((a, b) => compare(a.cells[head.cellIndex], b.cells[head.cellIndex], order) || place(a) - place(b));
  body.append(...rows);
  byId("announcement").textContent = `Sorted by ${head.dataset.name}, ${order}.`;
}

const place = (row) => Number(row.dataset.place);

// Empty values come last in either order.
function compare(one, other, order) {
  const [a, b] = [one.dataset.value, other.dataset.value];
  if (a === "" || b === "") return (a === "") - (b === "");
  const numbers = one.dataset.kind !== "text";
  const difference = numbers ? Number(a) - Number(b) : Number(a > b) - Number(a < b);
  return order === "ascending" ? difference : -difference;
}
