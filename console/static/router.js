// Places in the page: what stands behind `#` says which view is shown, so that reload and back keep the place.

import { replace } from "./dom.js";
import { failure } from "./messages.js";

let routes = [];
let current = { leave: null, name: null };

/**
 * Show the view of the place that the address names, now and whenever it changes.
 *
 * A route is `{name, title, pattern, show}`. `pattern` is a RegExp for the path, its groups are handed over;
 * `show(root, {groups, query, signal})` fills the element `root` and may return a function that is called when
 * the view is left; `signal` is aborted then, too. `query` is a URLSearchParams. The first route is the default.
 */
export function begin(all, root, changed) {
  routes = all;
  const go = () => {
    const [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
    const found = routes.find((route) => route.pattern.test(path));
    if (!found) return location.replace(`#${routes[0].path}`);
    current.leave?.();
    const abort = new AbortController();
    const focused = root.contains(document.activeElement);
    root.replaceChildren();
    document.title = `${found.title} · Safelight`;
    const moved = current.name !== null && current.name !== found.name;
    const left = shown(found, root, {
      groups: path.match(found.pattern).slice(1),
      query: new URLSearchParams(query),
      signal: abort.signal,
    });
    current = {
      name: found.name,
      leave: () => {
        abort.abort();
        left?.();
      },
    };
    changed(found);
    // What had the focus may be gone: who works by keyboard goes on from the new view, not from the page's top.
    if (moved || (focused && !root.contains(document.activeElement))) root.focus({ preventScroll: true });
    if (moved) scrollTo(0, 0);
  };
  addEventListener("hashchange", go);
  go();
}

function shown(route, root, given) {
  try {
    return route.show(root, given);
  } catch (error) {
    return showFault(root, error);
  }
}

/** Say that a view failed by a fault of its own, instead of leaving it blank. */
export function showFault(root, error) {
  console.error(error);
  replace(root, failure({ message: `This view can't be shown: ${error.message}` }, () => location.reload()));
}

/** The address of a place; empty values are left out. */
export function place(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#${path}${text ? `?${text}` : ""}`;
}
