// What is looked at again and again, while someone can see it.

/**
 * Call `action` now and `everyMs` after each call's end (later, where it takes long: who looks shall be no load), as
 * long as the page can be seen; back in sight, at once.
 * It ends with `signal`. `action` deals with its own failures. Returns a function that calls it at once.
 */
export function live(action, { everyMs, signal }) {
  let timer = null;
  let busy = false;
  let again = false;

  async function run() {
    clearTimeout(timer);
    if (signal.aborted || document.hidden) return;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const begun = performance.now();
    try {
      await action();
    } finally {
      busy = false;
    }
    if (signal.aborted || document.hidden) return;
    timer = setTimeout(run, again ? 0 : Math.max(everyMs, 10 * (performance.now() - begun)));
    again = false;
  }

  document.addEventListener("visibilitychange", run, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
  return run;
}

/** Set an element's text, if it is another one: a screen reader isn't told the same again. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
  return element;
}

/**
 * Keep an element's children those of a list. `make(item)` gives `{element, update}`, once for each key; after
 * that `update(item)` is called, so that focus and scroll stay where they are. Returns a function of the list.
 */
export function keyed(root, key, make) {
  const made = new Map();
  return (items) => {
    const wanted = new Set(items.map(key));
    for (const [name, part] of made) {
      if (wanted.has(name)) continue;
      part.element.remove();
      made.delete(name);
    }
    items.forEach((item, at) => {
      const name = key(item);
      if (!made.has(name)) made.set(name, make(item));
      const part = made.get(name);
      part.update(item);
      if (root.children[at] !== part.element) root.insertBefore(part.element, root.children[at] ?? null);
    });
  };
}
