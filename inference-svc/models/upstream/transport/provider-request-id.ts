/** Reads a provider's request id: its support asks for it. */
import type { ResponseFields } from "./http/response-head.ts";

/** Fields of OpenAI and most others, Anthropic, Amazon, and Azure. */
const names = ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id"] as const;

/** Ids are short words; anything else may be a text with more than an id. */
const form = /^[\w.:=-]{1,128}$/;

export function findProviderRequestId(head: ResponseFields): string | undefined {
  for (const name of names) {
    const value = head.first(name);
    if (value !== undefined && form.test(value)) return value;
  }
  return undefined;
}
