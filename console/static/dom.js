// Elements from JavaScript. Text is only ever set as text, so that no user's text can become markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element: `h("button", {class: "quiet", onclick: go}, "Go")`.
 *
 * Properties that begin with "on" are listeners, `style` is an object, `dataset` too; `true` sets an attribute
 * without a value, `false`, `null` and `undefined` set none. Children are nodes, texts, numbers or arrays of
 * them; `null` and `false` are left out.
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Put these children in place of an element's own. */
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style" || name === "dataset") Object.assign(element[name], value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
