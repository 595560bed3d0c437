/** The operations of the HTTP interface by their ids. */
import { alertRuleOperations } from "@sluice/proto/contract/operations/alert-rules.js";
import { auditOperations } from "@sluice/proto/contract/operations/audit.js";
import { catalogueOperations } from "./catalogue.ts";
import { createChatCompletion } from "./chat.ts";
import { compactResponse } from "./compaction.ts";
import { createEmbeddings, dryRunEmbeddings } from "./embeddings.ts";
import { endUserOperations } from "@sluice/proto/contract/operations/end-users.js";
import { guardrailOperations } from "@sluice/proto/contract/operations/guardrails.js";
import { countInputTokens } from "./input-tokens.ts";
import { keyOperations } from "@sluice/proto/contract/operations/keys.js";
import { messageOperations } from "./messages.ts";
import { providerOperations } from "@sluice/proto/contract/operations/providers.js";
import { responseOperations } from "./responses.ts";
import { usageOperations } from "@sluice/proto/contract/operations/usage.js";
import { viewOperations } from "@sluice/proto/contract/operations/views.js";
import { workspaceOperations } from "@sluice/proto/contract/operations/workspaces.js";

/** Operations whose answer is a JSON object about records or the catalogue. */
export const recordOperations = {
  ...catalogueOperations,
  ...providerOperations,
  ...usageOperations,
  ...keyOperations,
  ...guardrailOperations,
  ...endUserOperations,
  ...workspaceOperations,
  ...auditOperations,
  ...viewOperations,
  ...alertRuleOperations,
};

export const operations = {
  ...responseOperations,
  compactResponse,
  countInputTokens,
  createChatCompletion,
  ...messageOperations,
  createEmbeddings,
  dryRunEmbeddings,
  ...recordOperations,
};
