/** Closes streams in batches while a steady number is open, and reports when each was closed. */
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

/** Pause between closing and reopening, so that the work of opening does not delay the detection of the close. */
const pauseMs = 100;
/** Streams opened over all calls; makes every tag unique. */
let opened = 0;

interface OpenStream {
  readonly tag: string;
  readonly connection: Connection;
}

/** Settles at the first delta. @throws when the stream ends before it */
export function openStream(target: LoadTarget, script: Script, form?: RequestForm): Promise<Connection> {
  const connection = new Connection(target);
  return new Promise((resolve, reject) => {
    connection.exchange(prepare(target, script, form), { first: () => resolve(connection) }).catch(reject);
  });
}

/** @returns tag of each closed stream and the shared clock's time of its closing */
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
