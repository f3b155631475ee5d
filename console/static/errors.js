// What went wrong with a task, in plain words (docs/errors.md has all types).

const SENTENCES = {
  "not-an-image": "This file is no picture.",
  "unsupported-format": "This kind of picture isn't taken.",
  "truncated-image": "The file ends before anything can be shown: it came here cut off.",
  "corrupt-image": "The picture is damaged, so that nothing can be made of it.",
  "too-many-pixels": "The picture has more pixels than are allowed here.",
  "memory-limit": "The picture takes more memory than is allowed here.",
  "remote-rejected": "The analysis service refused the question.",
  "remote-timeout": "The analysis service wasn't done in time.",
  "no-preview": "There is no preview that could be sent to the analysis service.",
  "object-missing": "The original isn't in the store any more. Upload it once more.",
  "remote-error": "The analysis service failed.",
  "decoder-crashed": "The program that reads pictures broke off at this one.",
  "time-limit": "It took longer than it may.",
  "worker-lost": "The worker that had it in hand died or hung.",
  "internal-error": "Something went wrong in Safelight itself: most likely a mistake of ours.",
  "dependency-away": "Something that is needed (the database, the store or the analysis service) was away. It goes on by itself.",
};

/** A sentence for an `error.type`; one that isn't known stands for itself. */
export function plain(type) {
  return SENTENCES[type] ?? `It failed: ${type}.`;
}

// Of HTTP answers to an upload, those whose `detail` says less than a person needs.
const REFUSALS = {
  "not-an-image": "Not taken: this file is no picture.",
  "unsupported-format": "Not taken: a kind of picture that isn't supported.",
  "empty-upload": "Not taken: the file is empty.",
  "upload-too-large": "Not taken: the file is larger than is allowed here.",
  "missing-scope": "Not taken: your key may not upload photos.",
  "database-away": "The database is away.",
  "store-away": "The store is away.",
  "temporary-reduced-capacity": "Too much is waiting to be processed.",
  "rate-limited": "Too many requests at once.",
  "no-answer": "The service doesn't answer.",
};

/** Why an upload came to nothing, in a sentence. */
export function refusal(problem) {
  return REFUSALS[problem.code] ?? `Not taken: ${problem.message}`;
}
