// Looks that never overlap, so that no old answer is drawn over a newer one.

/**
 * `action`, but one at a time: who asks meanwhile has it done once more afterwards. Resolves when nothing is left
 * to do; rejects when `action` does.
 */
export function oneAtATime(action) {
  let running = null;
  let wanted = false;

  async function run() {
    try {
      while (wanted) {
        wanted = false;
        await action();
      }
    } finally {
      running = null;
    }
  }

  return () => {
    wanted = true;
    running ??= run();
    return running;
  };
}
