// The grid by mouse and keyboard: walking, selecting one, a range, all.

/** Listen on a grid. `bar` does what is done with the selection. */
export function keys(grid, list, selection, bar) {
  grid.element.addEventListener("click", (event) => clicked(event, list, selection));
  grid.element.addEventListener("keydown", (event) => pressed(event, grid, list, selection, bar));
}

function clicked(event, list, selection) {
  const id = event.target.closest("li")?.dataset.id;
  const onBox = event.target.type === "checkbox";
  // A click on the label comes again as one on its box.
  if (!id || (!onBox && event.target.closest("label"))) return;
  const meant = onBox || event.shiftKey || event.ctrlKey || event.metaKey;
  if (!meant) return; // the link opens the photo
  if (!onBox) event.preventDefault();
  if (event.shiftKey) selection.extend(id, list.photos);
  else selection.toggle(id);
}

async function pressed(event, grid, list, selection, bar) {
  const photo = grid.current;
  if (!photo) return;
  const at = list.indexOf(photo.id);
  const steps = {
    ArrowRight: 1, ArrowLeft: -1, ArrowDown: grid.columns, ArrowUp: -grid.columns,
    PageDown: grid.columns * grid.rowsSeen, PageUp: -grid.columns * grid.rowsSeen, Home: -at, End: list.photos.length - 1 - at,
  };
  if (event.key in steps && !event.ctrlKey && !event.altKey && !event.metaKey) {
    event.preventDefault();
    const to = Math.max(0, Math.min(list.photos.length - 1, at + steps[event.key]));
    if (event.shiftKey && !selection.size) selection.toggle(photo.id);
    grid.goTo(to);
    if (event.shiftKey) selection.extend(list.photos[to].id, list.photos);
  } else if (event.key === " ") {
    event.preventDefault();
    if (event.shiftKey) selection.extend(photo.id, list.photos);
    else selection.toggle(photo.id);
  } else if (event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    bar.selectAll();
  } else if (event.key === "Escape" && selection.size) {
    selection.clear();
  } else if (event.key === "Delete" && selection.size) {
    bar.remove();
  }
}
