// Who is signed in, and what they may do.

const scopes = document.body.dataset.scopes.split(" ");

/** The owner whose photos these are. */
export const owner = document.body.dataset.owner;

/** Whether the session has a scope; `admin` has them all. */
export function may(scope) {
  return scopes.includes(scope) || scopes.includes("admin");
}
