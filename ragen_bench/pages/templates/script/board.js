// Finds and colours boards in observations, by the legend that the game states, such as
// "Symbols: # wall, _ floor, O target, ...".

const KINDS = [
  [/^you in /, "lost"],
  [/^you/, "you"],
  [/ on target$/, "done"],
  [/^box/, "box"],
  [/^hole/, "hole"],
  [/^(target|goal)/, "goal"],
  [/^wall/, "wall"],
];

// Maps symbols to their names and kinds; empty if the first observation has no legend.
function readLegend(observation) {
  const legend = new Map();
  const line = /^Symbols: (.+)$/mu.exec(observation);
  for (const [, symbol, name] of line?.[1].matchAll(/(\S) ([a-z][a-z ]*)(?=[,.])/gu) ?? []) {
    legend.set(symbol, { name, kind: KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? "ground" });
  }
  return legend;
}

// Splits an observation around its board, the longest run of two or more lines of symbols alone.
function splitBoard(observation, legend) {
  const lines = observation.split("\n");
  const isBoardLine = lines.map((line) => line.length > 1 && [...line].every((symbol) => legend.has(symbol)));
  let best = [0, 0];
  for (let start = 0; start < lines.length; start++) {
    let end = start;
    while (isBoardLine[end]) end++;
    if (end - start > best[1] - best[0]) best = [start, end];
    start = end;
  }
  if (best[1] - best[0] < 2) return { before: observation, board: null, after: "" };
  const part = (from, to) => lines.slice(from, to).join("\n").trim();
  return { before: part(0, best[0]), board: lines.slice(...best), after: part(best[1]) };
}

const drawSymbol = (symbol, legend) => make("b", { "data-kind": legend.get(symbol).kind }, symbol);

// Draws the board above the meanings of all symbols, also those that appear in later turns only.
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
