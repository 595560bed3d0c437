/** Names of the files and folders of test/e2e that check an installation from outside, without looking into a process. */

/** Names of earlier tests in the core suites that deliberate later changes contradict; the changelog gives the reasons. */
export const intendedChanges = [
  // A web search that the providers do not support is now left out, and named in `not_sent`.
  "a tool that no provider runs is the caller's mistake, by its place",
  // A keep-alive comment now has one line feed, and joins the next event; the reader of these earlier tests took them for one block.
  "20: a failure after the status gate has opened, before any output",
  // The first management key now belongs to the account.
  "keys decide: none, wrong, and of the wrong kind",
  // Errors now have OpenAI's `type` and `param`.
  "13, 19: a guardrail that an operation gives a key, refuses its request and is taken away",
];

/** Names of earlier tests in the other suites that deliberate later changes contradict. */
export const intendedChangesElsewhere = [
  // Turns that arrive completely are now rows of the ledger; these earlier tests read the table of calls directly.
  "a dry run leaves no record: the only record is the following turn's",
  "a budget of 100 requests, with 1,000 sent, is spent exactly, and the sums equal the ledger's",
  "the output until then is on record, and paid for",
];

/** Suites of the worked examples over HTTP, and of both doors of inference-svc. */
export const coreSuites = ["samples", "grpc"];

export const conformance = [
  ...coreSuites,
  "samples-native",
  "streams",
  "errors",
  "receipt",
  "cost",
  "dry-run",
  "idempotency",
  "rate-limits",
  "openai-client",
  "leaving",
  "replicas",
  "keys",
  "budgets",
  "bulk",
  "end-users",
  "guardrail",
  "guardrail-output",
  "guardrail-redaction",
  "revocation",
  "workspaces",
];
