/** Clients that use a new session for each turn, so calls counted by the provider can be compared with the ledger. */
import type { Installation } from "../../support/installation.ts";
import { type Upstream, chatChunk } from "../../support/providers/upstream.ts";

export interface TurnTally {
  /** Sessions of turns that were answered completely. */
  readonly answered: string[];
  /** Streams without a terminal event, and answers that violate the contract. */
  readonly odd: string[];
}

/** Statuses that may occur: no answer (0), a failure of the service or of the provider, and the end of a process during a turn. */
const expected: ReadonlySet<number> = new Set([0, 200, 500, 502, 503, 524]);

export const chaosSession = (n: number): string => `chaos-${n}`;

/** Number of calls to the provider, by session. */
export function callsBySession({ requests }: Upstream): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  for (const { json } of requests) {
    const [{ content = "" } = {}] = json["messages"] as { content?: string }[];
    calls.set(content, (calls.get(content) ?? 0) + 1);
  }
  return calls;
}

/** An answer long enough for some to be running when a process is killed. */
export const longReply = {
  chunks: [
    { sse: [chatChunk({ content: "a" })] },
    {
      sse: [chatChunk({}, "stop"), { choices: [], usage: { prompt_tokens: 10, completion_tokens: 1 } }, "[DONE]"],
      afterMs: 20,
    },
  ],
};

export function startTurnLoop(
  installation: Installation,
  clients: number,
  over: () => boolean,
): { readonly asking: TurnTally; readonly ended: Promise<unknown> } {
  const asking: TurnTally = { answered: [], odd: [] };
  let next = 0;
  const client = async () => {
    while (!over()) {
      const n = next++;
      const { status, text } = await send(installation, chaosSession(n));
      if (!expected.has(status)) asking.odd.push(`${status} to a turn`);
      if (status === 200 && !text.endsWith("data: [DONE]\n\n"))
        asking.odd.push(`a stream that ends in ${text.slice(-80)}`);
      if (text.includes('"type":"response.completed"')) asking.answered.push(chaosSession(n));
    }
  };
  return { asking, ended: Promise.all(Array.from({ length: clients }, client)) };
}

async function send(
  installation: Installation,
  sessionId: string,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const answer = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large", input: sessionId, session_id: sessionId, stream: true }),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return { status: 0, text: "" };
  }
}
