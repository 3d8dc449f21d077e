// Keys of the trajectories. They act while the focus is there, or nowhere with the viewer in view.

function handleKeys(viewer) {
  const list = byId("list");
  const anywhere = {
    ArrowLeft: () => viewer.step(-1),
    ArrowRight: () => viewer.step(1),
  };
  const letters = {
    j: () => viewer.move(1),
    k: () => viewer.move(-1),
    "/": () => byId("filter-text").focus(),
  };
  const inList = {
    ArrowDown: () => viewer.move(1),
    ArrowUp: () => viewer.move(-1),
    Home: () => viewer.open(viewer.list.rows[0]),
    End: () => viewer.open(viewer.list.rows.at(-1)),
    Enter: () => byId("episode").focus(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target, key } = event;
    if (target === byId("filter-text") && (key === "Escape" || key === "Enter")) {
      if (key === "Enter") viewer.filters.apply();
      list.focus();
      return event.preventDefault();
    }
    if (target.matches("input, select, textarea") || !isMeant(target)) return;
    const act =
      (target === list && inList[key]) ||
      anywhere[key] ||
      (byId("letters").checked && letters[key]) ||
      (key === "Escape" && (() => list.focus()));
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function isMeant(target) {
  if (target !== document.body) return byId("viewer").contains(target);
  const { top, bottom } = byId("viewer").getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}
