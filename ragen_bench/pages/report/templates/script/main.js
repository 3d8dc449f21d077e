// Starts the viewer when the page has loaded.

function warn(text) {
  byId("broken").textContent = text;
  byId("broken").hidden = !text;
}

// Prints the open episode with all its turns.
function handlePrinting(viewer) {
  addEventListener("beforeprint", () => {
    const { episode } = viewer;
    const turns = episode ? [...episode.turns.keys(), episode.turns.length] : [];
    const makeTitle = (i) => make("h4", {}, i < episode.turns.length ? `Turn ${i + 1}` : "End");
    byId("print").replaceChildren(...turns.flatMap((i) => [makeTitle(i), drawTurn(episode, i + 1, null)]));
  });
  addEventListener("afterprint", () => byId("print").replaceChildren());
}

// A second click on the same example changes no hash, so hashchange does not fire.
function handleExamples(viewer) {
  for (const link of document.querySelectorAll("a.example")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      history.pushState(null, "", link.hash);
      viewer.follow(link.hash);
    });
  }
}

async function start() {
  handleTheme();
  warn("");
  if (typeof DecompressionStream === "undefined" || !Map.groupBy) {
    warn("This browser is too old to show the trajectories; use one of 2024 or later. The metrics above are complete.");
    return;
  }
  const viewer = new Viewer(await Store.open());
  byId("viewer").hidden = false;
  handleKeys(viewer);
  handlePrinting(viewer);
  handleExamples(viewer);
  addEventListener("hashchange", () => viewer.follow(location.hash));
  viewer.list.show(viewer.store.rows, null);
  viewer.filters.count(viewer.store.rows);
  if (!(await viewer.follow(location.hash))) await viewer.filters.apply();
}

start();
