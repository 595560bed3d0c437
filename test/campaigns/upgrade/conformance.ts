/** Files and folders of test/e2e, by name, that check an installation from outside, without a look into a process. */

/** Names of earlier tests of the core suites contradicted by deliberate changes since; the changelog gives the reasons. */
export const intendedChanges = [
  // A web search unsupported by the providers is left out and named in `not_sent`.
  "a tool that no provider runs is the caller's mistake, by its place",
  // A keep-alive comment has one line feed, and joins the next event; the reader of these tests took them for one block.
  "20: a failure after the status gate has opened, before any output",
  // The first management key is one of the account.
  "keys decide: none, wrong, and of the wrong kind",
  // Errors have OpenAI's `type` and `param`.
  "13, 19: a guardrail that an operation gives a key, refuses its request and is taken away",
];

/** The same in the other suites. */
export const intendedChangesElsewhere = [
  // Turns that arrive whole are rows of the ledger; these tests read the table of calls by themselves.
  "a dry run leaves no record: the only record is the following turn's",
  "a budget of 100 requests, with 1,000 sent, is spent exactly, and the sums equal the ledger's",
  "the output until then is on record, and paid for",
];

/** The worked examples over HTTP, and both doors of inference-svc side by side. */
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
