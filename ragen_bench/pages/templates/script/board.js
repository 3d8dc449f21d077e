// Boards within observations, found and coloured by the legend that the game itself gives:
// "Symbols: # wall, _ floor, O target, ...". So every vocabulary is known that says what it means.

const KINDS = [
  [/^you in /, "lost"],
  [/^you/, "you"],
  [/ on target$/, "done"],
  [/^box/, "box"],
  [/^hole/, "hole"],
  [/^(target|goal)/, "goal"],
  [/^wall/, "wall"],
];

// From symbols to their names and kinds; empty if the first observation has no legend.
function legendOf(observation) {
  const legend = new Map();
  const line = /^Symbols: (.+)$/mu.exec(observation);
  for (const [, symbol, name] of line?.[1].matchAll(/(\S) ([a-z][a-z ]*)(?=[,.])/gu) ?? []) {
    legend.set(symbol, { name, kind: KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? "ground" });
  }
  return legend;
}

// The longest run of at least two lines that have symbols only, and what stands around it.
function splitBoard(observation, legend) {
  const lines = observation.split("\n");
  const drawn = lines.map((line) => line.length > 1 && [...line].every((symbol) => legend.has(symbol)));
  let best = [0, 0];
  for (let start = 0; start < lines.length; start++) {
    let end = start;
    while (drawn[end]) end++;
    if (end - start > best[1] - best[0]) best = [start, end];
    start = end;
  }
  if (best[1] - best[0] < 2) return { before: observation, board: null, after: "" };
  const part = (from, to) => lines.slice(from, to).join("\n").trim();
  return { before: part(0, best[0]), board: lines.slice(...best), after: part(best[1]) };
}

const drawSymbol = (symbol, legend) => make("b", { "data-kind": legend.get(symbol).kind }, symbol);

// The board, and below it what each symbol means: those too that only later turns show.
function drawBoard(lines, legend) {
  const board = make("pre", { class: "board" });
  board.style.setProperty("--columns", Math.max(...lines.map((line) => [...line].length)));
  board.style.setProperty("--rows", lines.length);
  lines.forEach((line, number) => {
    if (number) board.append("\n");
    board.append(...[...line].map((symbol) => drawSymbol(symbol, legend)));
  });
  const meanings = make("p", { class: "meanings" });
  [...legend].forEach(([symbol, { name }], number) => {
    meanings.append(number ? ", " : "", make("span", {}, drawSymbol(symbol, legend), ` ${name}`));
  });
  return make("div", { class: "drawing", role: "group", "aria-label": "Board" }, board, meanings);
}
