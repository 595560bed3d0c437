/** Runs a request of the playground: first the dry run, then the streamed answer. */
import { ApiError, type Schemas, errorMessageOf } from "../api/client.ts";
import { playgroundKey } from "../api/playground-key.ts";
import type { PlaygroundRequest } from "./request.ts";

export type DryRunPlan = Schemas["DryRun"];

/** An event of the stream, as received. */
export interface StreamEvent {
  readonly type: string;
  /** Milliseconds from the request to the event. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

const base = "/api/v1/responses";

async function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const { secret } = await playgroundKey();
  const headers = {
    authorization: `Bearer ${secret}`,
    "content-type": "application/json",
    "x-service-metadata": "enabled",
  };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null });
  if (response.ok) return response;
  const failure: unknown = await response.json().catch(() => undefined);
  throw new ApiError(response.status, errorMessageOf(failure) ?? `The request failed with status ${response.status}.`);
}

/** @throws ApiError */
export const planRequest = async (request: PlaygroundRequest): Promise<DryRunPlan> =>
  (await (await post(`${base}/dry-run`, request)).json()) as DryRunPlan;

/** Calls back for every event, in order. @throws ApiError */
export async function streamRequest(
  request: PlaygroundRequest,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const began = performance.now();
  const { body } = await post(base, { ...request, stream: true }, signal);
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffered = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (buffered + value).split("\n\n");
    buffered = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = parseData(block);
      if (data) onEvent({ type: String(data["type"]), at: performance.now() - began, data });
    }
  }
}

function parseData(block: string): Readonly<Record<string, unknown>> | undefined {
  const text = block
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []))
    .join("\n");
  return text === "" || text === "[DONE]" ? undefined : (JSON.parse(text) as Record<string, unknown>);
}
