// Places in the page: what stands behind `#` says which view is shown, so that reload and back keep the place.

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
    root.replaceChildren();
    document.title = `${found.title} · Safelight`;
    const moved = current.name !== null && current.name !== found.name;
    const left = found.show(root, {
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
    if (moved) {
      root.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  };
  addEventListener("hashchange", go);
  go();
}

/** The address of a place; empty values are left out. */
export function place(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#${path}${text ? `?${text}` : ""}`;
}
