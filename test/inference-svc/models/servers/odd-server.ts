/** A server that answers in an unusual way, and what a reader gets from it. */
import type { Outcome } from "@sluice/inference-svc/turn/turn.js";
import { type Reply, chatChunk, chatStream, startUpstream } from "../../../support/providers/upstream.js";
import { type TurnResult, testRequest, testConfig, itemsOf, openEngine, runTestTurn } from "../../asking.js";

export interface OddServerOptions {
  /** Dialect of the server, chat by default. */
  readonly dialect?: string;
  readonly stream?: boolean;
  /** Another endpoint stands behind it, and answers "Good." */
  readonly fallback?: true;
  /** Timeouts of the server in milliseconds. */
  readonly timeouts?: Readonly<Record<string, number>>;
}

/** Runs a turn over the whole stack and real sockets. */
export async function runAgainstServer(reply: Reply, asked: OddServerOptions = {}): Promise<TurnResult> {
  const { dialect = "chat", stream = true, fallback, timeouts } = asked;
  const [odd, good] = await Promise.all([startUpstream([reply]), startUpstream([chatStream("Good.")])]);
  const provider = (id: string, url: string) => ({ id, base_url: `${url}/v1`, api_keys: ["k"] });
  const engine = openEngine(
    testConfig({
      providers: [
        { ...provider("odd", odd.url), dialect, ...(timeouts && { timeouts }) },
        { ...provider("good", good.url), dialect: "chat" },
      ],
      models: [{ id: "acme/large-2", endpoints: [{ provider: "odd" }, ...(fallback ? [{ provider: "good" }] : [])] }],
    }),
  );
  try {
    return await runTestTurn(engine.turn, testRequest({ stream }));
  } finally {
    await Promise.all([engine.upstreams.close(), odd.stop(), good.stop()]);
  }
}

const objects = (list: unknown) => (Array.isArray(list) ? (list as Record<string, unknown>[]) : []);
const joined = (parts: unknown) =>
  objects(parts)
    .map(({ text, refusal }) => text ?? refusal)
    .join("");

/** The visible text of the items. Fails unless the items are in the order required by clients. */
export const readItems = ({ events }: TurnResult): readonly unknown[] =>
  itemsOf(events).map(({ type, name, content, arguments: json }) => {
    if (type === "reasoning") return { thought: joined(content) };
    return type === "function_call" ? { call: name, arguments: json } : joined(content);
  });

/** How the turn ended: once, and with nothing after it. */
export function outcomeOf({ events, fault }: TurnResult): Outcome {
  if (fault) throw fault;
  const [end, ...others] = events.filter((event) => event.type === "end");
  if (!end || others.length > 0 || events.at(-1) !== end) throw new Error(`${others.length + 1} ends`);
  return end.outcome;
}

/** A body, unchanged. */
export const bytesReply = (text: string | Uint8Array, type = "text/event-stream"): Reply => ({
  headers: { "content-type": type },
  chunks: [{ bytes: text }],
});

export const sseReply = (...events: readonly unknown[]): Reply => ({ chunks: [{ sse: events }] });

export const greetingChunk = chatChunk({ content: "Hi" });
export const stopChunk = chatChunk({}, "stop");
