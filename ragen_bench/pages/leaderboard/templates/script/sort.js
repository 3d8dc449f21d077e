// Columns that are sorted by a button in their head. Without scripts the order is that of the ranks.

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

// Numbers begin with the highest, ranks and texts with the lowest; again turns it around.
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

// What has no value comes last, whatever the order.
function compare(one, other, order) {
  const [a, b] = [one.dataset.value, other.dataset.value];
  if (a === "" || b === "") return (a === "") - (b === "");
  const numbers = one.dataset.kind !== "text";
  const found = numbers ? Number(a) - Number(b) : Number(a > b) - Number(a < b);
  return order === "ascending" ? found : -found;
}
