/** Variants of the dialects for Google's and Microsoft's clouds. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { chat } from "./chat/dialect.ts";
import type { Dialect } from "./dialect.ts";
import { geminiOnVertex } from "./gemini/vertex.ts";
import { messagesOnVertex } from "./messages/vertex.ts";
import { responses } from "./responses/dialect.ts";

type Dialects = Readonly<Record<string, Dialect>>;

const vertex: Dialects = { gemini: geminiOnVertex, messages: messagesOnVertex };

/** The dialect with keys in Azure's own header. Claude on Azure is served with Anthropic's header instead. */
const withAzureKey = (dialect: Dialect): Dialect => ({
  ...dialect,
  headers: (key) => ({ ...dialect.headers(undefined), ...(key !== undefined && { "api-key": key }) }),
  ...(dialect.embeddings && { embeddings: withAzureKey(dialect.embeddings) }),
});

/** Dialects on Azure. As at OpenAI itself, models of OpenAI refuse older parameters such as `max_tokens` there. */
const azure: Dialects = {
  chat: { ...withAzureKey(chat), alwaysOriginal: true },
  responses: { ...withAzureKey(responses), alwaysOriginal: true },
};

/** The variant of a dialect for the provider's cloud. @returns undefined when the usual form applies */
export const cloudDialect = (settings: ProviderSettings): Dialect | undefined =>
  (settings.google && vertex[settings.dialect]) ?? (settings.azure && azure[settings.dialect]);
