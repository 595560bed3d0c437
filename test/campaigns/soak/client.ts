/** A client with its stream: it reads to the end, reads slowly, or leaves. */
import { type IncomingMessage, request } from "node:http";

/** Ways of a client. `leaves` ends the stream at the first words, `leaves at once` within a tenth of a second, with or without data. */
export type ClientBehaviour = "reads" | "reads slowly" | "leaves" | "leaves at once";

export interface ClientOptions {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
  /** Text in the request, by which logs can be searched. */
  readonly tag: string;
  readonly manner: ClientBehaviour;
  /** Called when the first words of the answer arrive. */
  readonly seen: () => void;
}

/** Milliseconds after which a stream without an end counts as hanging, far above the time limit of a turn. */
const limitMs = 60_000;
const hesitationMs = 100;
const pauseMs = 1_000;
/** Number of characters kept between reads: more than any event name has. */
const carried = 64;
/** Number of bytes kept of a failed answer: enough for its type and message. */
const keptOfFailure = 4_096;

export interface StreamOutcome {
  /** `completed`, `failed`, `left`, `status <code>`, or a description of a violation. */
  readonly outcome: string;
  /** Milliseconds from the request to the outcome. */
  readonly ms: number;
  /** Details to investigate a failure. */
  readonly detail: string;
}

export function runClient({ baseUrl, key, model, tag, manner, seen }: ClientOptions): Promise<StreamOutcome> {
  return new Promise((resolve) => {
    const began = performance.now();
    const asked = request(`${baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      agent: false,
    });
    const timers = [setTimeout(() => end("no end in a minute"), limitMs)];
    const end = (outcome: string, said = "") => {
      for (const timer of timers) clearTimeout(timer);
      asked.destroy();
      const ms = performance.now() - began;
      resolve({ outcome, ms, detail: `${tag}, ${manner}, after ${(ms / 1_000).toFixed(1)} s${said && `: ${said}`}` });
    };
    if (manner === "leaves at once") timers.push(setTimeout(() => end("left"), Math.random() * hesitationMs));
    asked.on("error", (error: NodeJS.ErrnoException) => {
      const state = asked.socket?.connecting === false ? `${asked.socket.bytesWritten} bytes sent` : "not connected";
      end(`broken connection: ${error.message}`, `${error.code} of ${error.syscall}, ${state}`);
    });
    asked.on("response", (response) => {
      read(
        response,
        () => {
          seen();
          if (manner === "leaves") end("left");
          if (manner === "reads slowly") pause(response, timers);
        },
        end,
      );
    });
    asked.end(JSON.stringify({ model, input: tag, stream: true }));
  });
}

function pause(response: IncomingMessage, timers: NodeJS.Timeout[]): void {
  response.pause();
  timers.push(setTimeout(() => response.resume(), pauseMs));
}

/** Reads an answer. Of its text it keeps only as much as may be the beginning of an event name. */
function read(response: IncomingMessage, words: () => void, end: (outcome: string, said?: string) => void): void {
  let rest = "";
  let terminal = "";
  let spoken = false;
  let failure = "";
  response.setEncoding("utf8").on("data", (part: string) => {
    const text = rest + part;
    terminal = /event: response\.(completed|failed)\n/.exec(text)?.[1] ?? terminal;
    rest = text.slice(-carried);
    if (response.statusCode !== 200 || terminal === "failed") failure = (failure + part).slice(0, keptOfFailure);
    if (spoken || !text.includes("event: response.output_text.delta\n")) return;
    spoken = true;
    words();
  });
  response.on("error", (error) => end(`broken answer: ${error.message}`));
  response.on("end", () => {
    const said = (failure.match(/"(?:error_type|message)":"[^"]*"/g) ?? []).join();
    if (response.statusCode !== 200) end(`status ${response.statusCode}`, said);
    else end(rest.endsWith("data: [DONE]\n\n") ? terminal || "without a terminal event" : "without [DONE]", said);
  });
}
