/** The operations of the HTTP interface by their ids. */
import { auditOperations } from "./audit.ts";
import { catalogueOperations } from "./catalogue.ts";
import { createChatCompletion } from "./chat.ts";
import { compactResponse } from "./compaction.ts";
import { createEmbeddings, dryRunEmbeddings } from "./embeddings.ts";
import { endUserOperations } from "./end-users.ts";
import { guardrailOperations } from "./guardrails.ts";
import { countInputTokens } from "./input-tokens.ts";
import { keyOperations } from "./keys.ts";
import { messageOperations } from "./messages.ts";
import { responseOperations } from "./responses.ts";
import { usageOperations } from "./usage.ts";
import { workspaceOperations } from "./workspaces.ts";

/** Operations whose answer is a JSON object about records or the catalogue. */
export const recordOperations = {
  ...catalogueOperations,
  ...usageOperations,
  ...keyOperations,
  ...guardrailOperations,
  ...endUserOperations,
  ...workspaceOperations,
  ...auditOperations,
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
