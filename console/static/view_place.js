// Where in the grid one was, so that reload and back lead there.

const NAME = "photos-place";

/** Keep the place for a list's filters; `focused`: where the keyboard is. */
export function keep(list, grid) {
  const focused = document.activeElement?.closest?.(".tile")?.dataset.id;
  sessionStorage.setItem(NAME, JSON.stringify({ filters: list.filters, ...grid.place, focused }));
}

/** Say that one comes back to this photo. */
export function comeBackTo(id) {
  const before = JSON.parse(sessionStorage.getItem(NAME) ?? "{}");
  sessionStorage.setItem(NAME, JSON.stringify({ ...before, focused: id }));
}

/** The place that was kept for these filters: `{id, at, hidden, focused}`, or null. */
export function kept(list) {
  const before = JSON.parse(sessionStorage.getItem(NAME) ?? "null");
  return before && JSON.stringify(before.filters) === JSON.stringify(list.filters) ? before : null;
}

/** It was used. */
export function forget() {
  sessionStorage.removeItem(NAME);
}
