/** Clients who ask for turns, each under a session of its own, so that the provider's own count can be held against the ledger. */
import type { House } from "../support/house.ts";
import { type Upstream, chatChunk } from "../support/upstream.ts";

export interface Asking {
  /** Turns with a whole answer. */
  answered: number;
  /** Streams that ended without saying how, and answers that the contract does not have. */
  readonly odd: string[];
}

/** No answer, our own trouble, the provider's, and a process that ended a turn. */
const expected: ReadonlySet<number> = new Set([0, 200, 500, 502, 503, 524]);

export const session = (n: number): string => `chaos-${n}`;

/** Of every call that the provider was asked for, by the session that it was made for. */
export function callsBySession({ requests }: Upstream): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  for (const { json } of requests) {
    const [{ content = "" } = {}] = json["messages"] as { content?: string }[];
    calls.set(content, (calls.get(content) ?? 0) + 1);
  }
  return calls;
}

/** Long enough that a kill meets some of them in the middle. */
export const reply = {
  chunks: [
    { sse: [chatChunk({ content: "a" })] },
    {
      sse: [chatChunk({}, "stop"), { choices: [], usage: { prompt_tokens: 10, completion_tokens: 1 } }, "[DONE]"],
      afterMs: 20,
    },
  ],
};

export function startAsking(
  house: House,
  clients: number,
  over: () => boolean,
): { readonly asking: Asking; readonly ended: Promise<unknown> } {
  const asking: Asking = { answered: 0, odd: [] };
  let next = 0;
  const client = async () => {
    while (!over()) {
      const n = next++;
      const { status, text } = await send(house, session(n));
      if (!expected.has(status)) asking.odd.push(`${status} to a turn`);
      if (status === 200 && !text.endsWith("data: [DONE]\n\n"))
        asking.odd.push(`a stream that ends in ${text.slice(-80)}`);
      if (text.includes('"type":"response.completed"')) asking.answered++;
    }
  };
  return { asking, ended: Promise.all(Array.from({ length: clients }, client)) };
}

async function send(house: House, sessionId: string): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const answer = await fetch(`${house.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${house.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large", input: sessionId, session_id: sessionId, stream: true }),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return { status: 0, text: "" };
  }
}
