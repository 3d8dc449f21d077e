// Keyboard shortcuts of the viewer. They act while it has the focus, or while it is in view and
// nothing else has the focus.

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
    if (target.matches("input, select, textarea") || !isForViewer(target)) return;
    const action =
      (target === list && inList[key]) ||
      anywhere[key] ||
      (byId("letters").checked && letters[key]) ||
      (key === "Escape" && (() => list.focus()));
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function isForViewer(target) {
  if (target !== document.body) return byId("viewer").contains(target);
  const { top, bottom } = byId("viewer").getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}
