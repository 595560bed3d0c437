/** A request with its calls to providers, and its captured content. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";

/** Loads a request with its calls to providers. @param id generation id */
export async function loadRequest(id: string) {
  const { data } = await unwrapAnswer(api.GET("/generation", { params: { query: { id } } }));
  return data;
}

export type GenerationRecord = Awaited<ReturnType<typeof loadRequest>>;
export type ProviderCall = NonNullable<GenerationRecord["provider_responses"]>[number];

export type CapturedContent = Schemas["GenerationContent"];

/** The prompt and the answer of a request. The audit log records the reading. */
export async function loadContent(id: string): Promise<CapturedContent> {
  const { data } = await unwrapAnswer(api.GET("/generation/content", { params: { query: { id } } }));
  return data;
}
