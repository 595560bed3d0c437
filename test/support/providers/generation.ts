/** Reads the record of a response from `GET /generation`. */
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
  /** The installation's own key when absent. */
  readonly key?: string;
  /** Records arrive one by one; when absent the first will do. */
  readonly isWhole?: (calls: readonly ProviderCall[]) => boolean;
}

/** @throws when it is not there after a minute */
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
