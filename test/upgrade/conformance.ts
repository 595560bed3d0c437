/** The files of test/e2e that hold a house to its contract, whoever serves it: none of them looks into a process. */

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
