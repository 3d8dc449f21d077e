// The runs that are ticked, in the order in which they were: the first is what the others are
// compared with.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
let ticked = [];

function handleChoice() {
  ticked = kept("ticked") ?? [];
  byId("runs").addEventListener("change", (event) => tick(event.target.value, event.target.checked));
  byId("untick").addEventListener("click", () => {
    ticked = [];
    showChoice();
  });
  byId("compare").addEventListener("click", () => {
    if (ticked.length > 1) location.href = `compare/${ticked.join("/")}`;
  });
  showChoice();
}

function tick(id, checked) {
  ticked = ticked.filter((other) => other !== id);
  if (checked && ticked.length < LETTERS.length) ticked.push(id);
  showChoice();
}

// Of the rows that are there: a run may have gone since.
function showChoice() {
  const rows = listed();
  ticked = ticked.filter((id) => rows.some((row) => row.id === `run-${id}`));
  for (const row of rows) {
    const box = row.querySelector("input");
    if (!box) continue;
    box.hidden = false;
    box.checked = ticked.includes(box.value);
    row.querySelector(".letter").textContent = LETTERS[ticked.indexOf(box.value)] ?? "";
  }
  byId("choice").hidden = ticked.length === 0;
  byId("compare").setAttribute("aria-disabled", String(ticked.length < 2));
  byId("chosen").textContent =
    ticked.length < 2 ? "Tick another run to compare it with A." : `${ticked.length} runs are ticked; A is what the others are compared with.`;
  keep("ticked", ticked);
}
