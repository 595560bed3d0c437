/** Reads the record of a response by `GET /generation`. */
import type { Installation } from "../installation.ts";
import { eventually } from "../processes.ts";

export interface ProviderCall {
  readonly provider_name: string;
  readonly [field: string]: unknown;
}

export interface Generation {
  readonly total_cost: number;
  readonly provider_responses: readonly ProviderCall[];
  readonly [field: string]: unknown;
}

export interface GenerationQuery {
  /** Key for the request; the installation's own key if absent. */
  readonly key?: string;
  /** Whether enough records have arrived, which come one by one; if absent, the first one suffices. */
  readonly isWhole?: (calls: readonly ProviderCall[]) => boolean;
}

/** @throws if the record does not appear within a minute */
export async function fetchGeneration(
  { baseUrl, apiKey }: Pick<Installation, "baseUrl" | "apiKey">,
  response: Pick<Response, "headers">,
  { key = apiKey, isWhole = () => true }: GenerationQuery = {},
): Promise<Generation> {
  const address = `${baseUrl}/generation?id=${response.headers.get("x-generation-id")}`;
  let data: Generation | undefined;
  await eventually(async () => {
    const shown = await fetch(address, { headers: { authorization: `Bearer ${key}` } });
    ({ data } = (await shown.json()) as { data?: Generation });
    return shown.status === 200 && data !== undefined && isWhole(data.provider_responses);
  });
  return data as Generation;
}
