/** A client's turn, and what its answer says. */
import { parseSse } from "../../support/answers/sse.ts";
import { answerText } from "./provider.ts";

export interface TurnRequest {
  readonly baseUrl: string;
  readonly key: string;
  readonly model?: string;
  readonly text: string;
  /** Whether the text is the session id, too. */
  readonly isSession: boolean;
  readonly stream: boolean;
  readonly idempotencyKey?: string;
}

export interface TurnAnswer {
  /** HTTP status; 0 if the connection failed at any time. */
  readonly status: number;
  /** Generation id of a complete answer. */
  readonly completed: string | undefined;
  /** Fault of an answer that ended properly; undefined without one. */
  readonly problem: string | undefined;
}

const limitMs = 60_000;
const failed: TurnAnswer = { status: 0, completed: undefined, problem: undefined };

/**
 * Begins a turn. The promise resolves with the headers of the answer and, for a stream, its first event. @returns undefined if the connection failed
 */
export function beginTurn({ baseUrl, key, model, text, isSession, stream, idempotencyKey }: TurnRequest) {
  return fetch(`${baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify({ model: model ?? "acme/large", input: text, stream, ...(isSession && { session_id: text }) }),
    signal: AbortSignal.timeout(limitMs),
  }).catch(() => undefined);
}

export async function endTurn(begun: Response | undefined): Promise<TurnAnswer> {
  const text = await begun?.text().catch(() => undefined);
  if (begun === undefined || text === undefined) return failed;
  const { status } = begun;
  if (status !== 200) return { status, completed: undefined, problem: undefined };
  try {
    const claimed = begun.headers.get("content-type")?.includes("event-stream") ? ofStream(text) : ofObject(text);
    const generation = begun.headers.get("x-generation-id") ?? "";
    return { status, completed: claimed.isWhole ? generation : undefined, problem: claimed.problem };
  } catch (error) {
    return { status, completed: undefined, problem: (error as Error).message };
  }
}

interface Claim {
  readonly isWhole: boolean;
  readonly problem: string | undefined;
}

interface Answered {
  readonly status: string;
  readonly output: readonly { readonly content?: readonly { readonly text?: string }[] }[];
}

function ofStream(text: string): Claim {
  const { done, events } = parseSse(text);
  const last = events.at(-1);
  const said = events.map(({ type, delta }) => (type === "response.output_text.delta" ? String(delta) : "")).join("");
  if (!done) return { isWhole: false, problem: `a stream that ends in ${text.slice(-80)}` };
  return last?.type === "response.completed" ? claim(said) : { isWhole: false, problem: undefined };
}

function ofObject(text: string): Claim {
  const { status, output } = JSON.parse(text) as Answered;
  const said = output.flatMap(({ content = [] }) => content.map((part) => part.text ?? "")).join("");
  return status === "completed" ? claim(said) : { isWhole: false, problem: `an object that is ${status}` };
}

const claim = (said: string): Claim => ({
  isWhole: true,
  problem: said === answerText ? undefined : `an answer that claims to be whole with "${said}"`,
});
