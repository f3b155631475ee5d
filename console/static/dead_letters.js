// To come.

export function show(root) {
  root.textContent = "";
}
