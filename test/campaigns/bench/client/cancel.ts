/** Closes streams in batches while a constant number is open, and reports the time of each closing. */
import { setTimeout as delay } from "node:timers/promises";
import { machineClockMs } from "../../../support/machine.ts";
import { type Script, endlessDeltas } from "../script.ts";
import { Connection, prepare } from "./connection.ts";
import type { RequestForm, LoadTarget } from "./target.ts";

export interface CancelOptions {
  readonly target: LoadTarget;
  readonly open: number;
  readonly batch: number;
  readonly batches: number;
  readonly gapMs: number;
}

/** Milliseconds between closing and reopening, so the work of opening does not delay the detection of the close. */
const pauseMs = 100;
/** Number of streams opened by all calls, which makes every tag unique. */
let opened = 0;

interface OpenStream {
  readonly tag: string;
  readonly connection: Connection;
}

/** Opens a stream; the promise resolves at its first delta. @throws if the stream ends before it */
export function openStream(target: LoadTarget, script: Script, form?: RequestForm): Promise<Connection> {
  const connection = new Connection(target);
  return new Promise((resolve, reject) => {
    connection.exchange(prepare(target, script, form), { first: () => resolve(connection) }).catch(reject);
  });
}

/** @returns the closing time of each stream by its tag, in milliseconds of the machine-wide clock */
export async function cancelBatches(options: CancelOptions): Promise<ReadonlyMap<string, number>> {
  const { target, open, batch, batches, gapMs } = options;
  const script: Script = { kind: "paced", deltas: endlessDeltas, gapMs };
  const closedAtMs = new Map<string, number>();
  const more = (count: number): Promise<OpenStream[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const tag = `cancel-${process.pid}-${opened++}`;
        return { tag, connection: await openStream(target, script, { tag }) };
      }),
    );
  const streams = await more(open);
  for (let round = 0; round < batches; round++) {
    for (const { tag, connection } of streams.splice(0, batch)) {
      closedAtMs.set(tag, machineClockMs());
      connection.close();
    }
    await delay(pauseMs);
    streams.push(...(await more(batch)));
  }
  for (const { connection } of streams) connection.close();
  return closedAtMs;
}
