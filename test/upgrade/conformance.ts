/** Files of test/e2e and the folders in it, by name, that hold a house to its contract from outside, without a look into a process. */

/** Tests of earlier builds, by their names, that hold to what was changed on purpose since; the changelog says why. */
export const changedOnPurpose = [
  // A web search that no provider runs is left out and named in `not_sent`.
  "a tool that no provider runs is the caller's mistake, by its place",
  // A keep-alive comment has one line feed, and joins the next event; the reader of these tests took them for one block.
  "20: a failure after the status gate has opened, before any output",
  // The first management key is one of the account.
  "keys decide: none, wrong, and of the wrong kind",
  // Errors have OpenAI's `type` and `param`.
  "13, 19: a guardrail that an operation gives a key, refuses its request and is taken away",
];

/** The worked examples over HTTP, and both doors of inference-svc side by side. */
export const core = ["samples", "grpc"];

export const conformance = [
  ...core,
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
  "ledger",
];
