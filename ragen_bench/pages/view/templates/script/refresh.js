// Fetches the page regularly and updates the rows that have changed.

const REFRESH_EVERY = 2000; // milliseconds

function handleRefresh() {
  const next = () => setTimeout(async () => {
    if (!document.hidden) await refresh();
    next();
  }, REFRESH_EVERY);
  next();
}

// Returns the current page; null if the server has ended or has been restarted.
async function fetchPage() {
  try {
    const reply = await fetch(location.pathname);
    return reply.ok ? await reply.text() : null;
  } catch {
    return null;
  }
}

async function refresh() {
  const text = await fetchPage();
  byId("ended").hidden = text !== null;
  if (text === null) return;
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const id of ["lead", "notes", "nothing"]) replaceIfChanged(byId(id), fresh.getElementById(id));
  updateRows([...fresh.querySelectorAll("#runs tr")]);
  fillSelects();
  applyFilters();
  updateChoice();
}

function replaceIfChanged(old, fresh) {
  if (old.outerHTML !== fresh.outerHTML) old.replaceWith(document.adoptNode(fresh));
}

function updateRows(rows) {
  const body = byId("runs");
  const current = new Map(findRows().map((row) => [row.id, row]));
  rows.forEach((fresh, place) => {
    const old = current.get(fresh.id);
    current.delete(fresh.id);
    const row = old ? updateRow(old, fresh) : document.adoptNode(fresh);
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] ?? null);
  });
  for (const row of current.values()) row.remove();
}

// Returns the old row with the new cells. Its checkbox and the focus stay.
function updateRow(old, fresh) {
  old.classList.remove("grown");
  const isReady = (row) => row.querySelector("input") !== null;
  if (old.cells.length !== fresh.cells.length || isReady(old) !== isReady(fresh)) {
    old.replaceWith(document.adoptNode(fresh));
    return fresh;
  }
  const cells = [...old.cells].slice(1);
  const different = cells.filter((cell) => cell.outerHTML !== fresh.cells[cell.cellIndex].outerHTML);
  // Pair the cells first: moving a cell out of the fresh row changes the indices of the others.
  const pairs = different.map((cell) => [cell, fresh.cells[cell.cellIndex]]);
  for (const [cell, other] of pairs) cell.replaceWith(document.adoptNode(other));
  Object.assign(old.dataset, fresh.dataset);
  if (pairs.length) old.classList.add("grown");
  return old;
}
