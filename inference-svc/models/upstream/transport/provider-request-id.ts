/** Reads the id a provider has given a request, which the provider's support asks for. */
import type { ResponseFields } from "./http/response-head.ts";

/** Header fields with the id at OpenAI and most others, Anthropic, Amazon, and Azure. */
const names = ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id"] as const;

/** Matches ids, which are short words; anything else may be a text with more than an id. */
const form = /^[\w.:=-]{1,128}$/;

export function findProviderRequestId(head: ResponseFields): string | undefined {
  for (const name of names) {
    const value = head.first(name);
    if (value !== undefined && form.test(value)) return value;
  }
  return undefined;
}
