// Names the cells of wide tables after their columns: on a phone, tables.css shows each row as a card.
for (const table of document.querySelectorAll("article table")) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent);
  if (heads.length < 4) continue;
  table.dataset.stacked = "";
  for (const row of table.tBodies[0]?.rows ?? []) {
    [...row.cells].forEach((cell, column) => (cell.dataset.label = heads[column]));
  }
}
