// Rows follow the runs: the page asks for itself again and takes over what has changed.

const REFRESH_EVERY = 2000; // milliseconds

function handleRefresh() {
  const next = () => setTimeout(async () => {
    if (!document.hidden) await refresh();
    next();
  }, REFRESH_EVERY);
  next();
}

// The page as it is now, or null where nobody answers, or another start of the command does.
async function asked() {
  try {
    const reply = await fetch(location.pathname);
    return reply.ok ? await reply.text() : null;
  } catch {
    return null;
  }
}

async function refresh() {
  const text = await asked();
  byId("ended").hidden = text !== null;
  if (text === null) return;
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const id of ["lead", "notes", "nothing"]) takeOver(byId(id), fresh.getElementById(id));
  takeOverRows([...fresh.querySelectorAll("#runs tr")]);
  offerChoices();
  applyFilters();
  showChoice();
}

function takeOver(old, fresh) {
  if (old.outerHTML !== fresh.outerHTML) old.replaceWith(document.adoptNode(fresh));
}

function takeOverRows(rows) {
  const body = byId("runs");
  const there = new Map(listed().map((row) => [row.id, row]));
  rows.forEach((fresh, place) => {
    const old = there.get(fresh.id);
    there.delete(fresh.id);
    const row = old ? changed(old, fresh) : document.adoptNode(fresh);
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] ?? null);
  });
  for (const gone of there.values()) gone.remove();
}

// The old row with the fresh cells; the tick and what has the focus stay.
function changed(old, fresh) {
  old.classList.remove("grown");
  const isReady = (row) => row.querySelector("input") !== null;
  if (old.cells.length !== fresh.cells.length || isReady(old) !== isReady(fresh)) {
    old.replaceWith(document.adoptNode(fresh));
    return fresh;
  }
  const cells = [...old.cells].slice(1);
  const different = cells.filter((cell) => cell.outerHTML !== fresh.cells[cell.cellIndex].outerHTML);
  // Taken together, as a cell that leaves the fresh row changes the places of the others.
  const pairs = different.map((cell) => [cell, fresh.cells[cell.cellIndex]]);
  for (const [cell, other] of pairs) cell.replaceWith(document.adoptNode(other));
  Object.assign(old.dataset, fresh.dataset);
  if (pairs.length) old.classList.add("grown");
  return old;
}
