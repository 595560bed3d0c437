/** The dialects in the variants of Google's and Microsoft's clouds. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { chat } from "./chat/dialect.ts";
import type { Dialect } from "./dialect.ts";
import { geminiOnVertex } from "./gemini/vertex.ts";
import { messagesOnVertex } from "./messages/vertex.ts";
import { responses } from "./responses/dialect.ts";

type Dialects = Readonly<Record<string, Dialect>>;

const vertex: Dialects = { gemini: geminiOnVertex, messages: messagesOnVertex };

/** Azure takes keys in a separate header, except for Claude, served with the header of Anthropic. */
const withAzureKey = (dialect: Dialect): Dialect => ({
  ...dialect,
  headers: (key) => ({ ...dialect.headers(undefined), ...(key !== undefined && { "api-key": key }) }),
  ...(dialect.embeddings && { embeddings: withAzureKey(dialect.embeddings) }),
});

/** Models of OpenAI refuse older parameters on Azure as at OpenAI itself, such as `max_tokens`. */
const azure: Dialects = {
  chat: { ...withAzureKey(chat), alwaysOriginal: true },
  responses: { ...withAzureKey(responses), alwaysOriginal: true },
};

/** The variant of a dialect on the cloud of a provider; undefined for the usual form. */
export const cloudDialect = (settings: ProviderSettings): Dialect | undefined =>
  (settings.google && vertex[settings.dialect]) ?? (settings.azure && azure[settings.dialect]);
