// The selected runs, in the order of their selection. The others are compared with the first.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
let selected = [];

function handleChoice() {
  selected = loadSetting("selected") ?? [];
  byId("runs").addEventListener("change", (event) => toggleRun(event.target.value, event.target.checked));
  byId("clear").addEventListener("click", () => {
    selected = [];
    updateChoice();
  });
  byId("compare").addEventListener("click", () => {
    if (selected.length > 1) location.href = `compare/${selected.join("/")}`;
  });
  updateChoice();
}

function toggleRun(id, checked) {
  selected = selected.filter((other) => other !== id);
  if (checked && selected.length < LETTERS.length) selected.push(id);
  updateChoice();
}

// Updates checkboxes and letters, and drops runs that no longer exist.
function updateChoice() {
  const rows = findRows();
  selected = selected.filter((id) => rows.some((row) => row.id === `run-${id}`));
  for (const row of rows) {
    const box = row.querySelector("input");
    if (!box) continue;
    box.hidden = false;
    box.checked = selected.includes(box.value);
    row.querySelector(".letter").textContent = LETTERS[selected.indexOf(box.value)] ?? "";
  }
  byId("choice").hidden = byId("runs").querySelectorAll("input").length < 2;
  byId("compare").setAttribute("aria-disabled", String(selected.length < 2));
  byId("clear").hidden = selected.length === 0;
  byId("chosen").textContent = [
    "Select two runs or more to compare them.",
    "Select another run to compare with A.",
  ][selected.length] ?? `${selected.length} runs are selected; the others are compared with A.`;
  saveSetting("selected", selected);
}
