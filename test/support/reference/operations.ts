/** The table of docs/reference/operations.md, generated from the operations of the contract. */
import { type Operation, basePath } from "@sluice/proto/contract/operations/operation.js";
import { neededRole } from "@sluice/proto/lib/policy/role.js";
import { operations } from "@sluice/gateway/contract/operations/operations.js";

/** Pages with more about an operation than its summary. */
const pages: Readonly<Partial<Record<keyof typeof operations, string>>> = {
  createResponse: "../clients/responses.md",
  dryRunResponse: "../start/how-it-works.md",
  compactResponse: "../clients/responses.md#compaction",
  createChatCompletion: "../clients/chat-completions.md",
  createMessage: "../clients/messages.md",
  createEmbeddings: "../providers/embeddings.md",
  getGenerationContent: "../operate/captured-content.md",
  listGenerations: "../budgets/usage.md",
  getUsageSeries: "../budgets/usage.md",
  getUsageChange: "../budgets/usage.md#what-changed",
  getUsageHealth: "../budgets/usage.md#health-of-providers",
  listSessions: "../budgets/usage.md#sessions",
  listActivity: "../plugins/auto-router.md#rankings-from-your-own-use",
  putKey: "../operate/administration.md#external-ids",
  tryGuardrail: "../guardrails/README.md#try-one",
  createWorkspace: "../operate/administration.md#workspaces",
  listAudit: "../operate/administration.md#the-audit-log",
  createEndUser: "../operate/administration.md#end-users",
};

const keyNames: Readonly<Record<Operation["key"], string>> = {
  inference: "application",
  management: "management",
  any: "either",
};

/**
 * The lowest role with which a person may use an operation in the console. Of the operations for applications, the console uses only that of the
 * playground.
 */
const roleOf = (id: string, operation: Operation): string =>
  operation.key === "inference" && operation.tag !== "Catalogue" && id !== "dryRunResponse"
    ? ""
    : neededRole(operation);

const rowOf = ([id, operation]: [string, Operation]): string => {
  const { method, path, key, summary, description } = operation;
  const page = pages[id as keyof typeof operations];
  const needsAccount = description.includes("Needs a management key of the account") ? " of the account" : "";
  const text = page === undefined ? summary : `[${summary}](${page})`;
  return `| \`${method.toUpperCase()} ${basePath}${path}\` | ${keyNames[key]}${needsAccount} | ${roleOf(id, operation)} | ${text} |`;
};

export function operationTable(): string {
  const rows = (Object.entries(operations) as unknown as [string, Operation][]).map(rowOf);
  return ["| operation | key | role | effect |", "|---|---|---|---|", ...rows].join("\n");
}
