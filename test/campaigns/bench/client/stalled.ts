/** A stream whose provider falls silent after its first event: which bytes the client receives, and when. */
import { setTimeout as delay } from "node:timers/promises";
import { machineClockMs } from "../../../support/machine.ts";
import { idleScript } from "./idle.ts";
import { Connection, prepare } from "./connection.ts";
import type { LoadTarget } from "./target.ts";

export interface StalledStream {
  /** Number of keep-alive comments received meanwhile. */
  readonly comments: number;
  /** Milliseconds from the first event to the end; undefined if the stream was still open after the limit. */
  readonly endedMs: number | undefined;
  /** The last data that are not a comment, as received. */
  readonly last: string;
}

const comment = /^:.*\n\n/gm;

export async function watchStalled(options: {
  readonly target: LoadTarget;
  readonly limitMs: number;
}): Promise<StalledStream> {
  const { target, limitMs } = options;
  const connection = new Connection(target);
  let firstAtMs = Number.NaN;
  let endedMs: number | undefined;
  let text = "";
  const first = () => {
    firstAtMs = machineClockMs();
    // Data after the first event show how the silence is handled.
    setImmediate(() => connection.socket.on("data", (bytes) => (text += bytes.toString("latin1"))));
  };
  const ended = connection
    .exchange(prepare(target, idleScript), { first })
    .catch(() => undefined)
    .finally(() => (endedMs = machineClockMs() - firstAtMs));
  await Promise.race([ended, delay(limitMs)]);
  connection.close();
  return { comments: text.match(comment)?.length ?? 0, endedMs, last: lastEvent(text) };
}

/** The last event in the bytes of a chunked body, where chunk sizes are lines of their own between the events. */
function lastEvent(text: string): string {
  const lines = text.split("\n").filter((line) => /^(data|event): /.test(line) && !line.startsWith("data: [DONE]"));
  return lines.at(-1)?.trim() ?? "";
}
