/** Opens and cancels many streams, and checks whether other streams are affected. */
import { type Script, endlessDeltas } from "../script.ts";
import { openStream } from "./cancel.ts";
import { Connection, prepare } from "./connection.ts";
import type { LoadTarget } from "./target.ts";

export interface StormOptions {
  readonly target: LoadTarget;
  readonly innocent: number;
  readonly gapMs: number;
  readonly cancels: number;
  /** Number of streams opened at the same time, each cancelled after its first delta. */
  readonly atOnce: number;
}

export interface StormResult {
  readonly killed: number;
  /** Number of other streams that got no further delta by the end of the storm. */
  readonly starved: number;
  /** How often streams ended or could not be opened, by reason. */
  readonly problems: ReadonlyMap<string, number>;
}

class Innocent {
  readonly connection: Connection;
  readonly begun: Promise<void>;
  deltas = 0;
  killedBy: Error | undefined;

  constructor(target: LoadTarget, script: Script) {
    this.connection = new Connection(target);
    this.begun = new Promise((resolve) => {
      const events = { first: () => resolve(), deltas: (count: number) => void (this.deltas += count) };
      this.connection.exchange(prepare(target, script), events).catch((error: Error) => {
        this.killedBy = error;
        resolve();
      });
    });
  }
}

export async function storm(options: StormOptions): Promise<StormResult> {
  const { target, innocent, gapMs, cancels, atOnce } = options;
  const script: Script = { kind: "paced", deltas: endlessDeltas, gapMs };
  const innocents = Array.from({ length: innocent }, () => new Innocent(target, script));
  await Promise.all(innocents.map(({ begun }) => begun));
  const problems = new Map<string, number>();
  const count = (error: Error) => problems.set(error.message, (problems.get(error.message) ?? 0) + 1);
  for (let done = 0; done < cancels; done += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, () => openAndCancel(target, script).catch(count)));
  }
  const starved = await starvedAfter(innocents, 10 * gapMs);
  const killed = innocents.filter(({ killedBy }) => killedBy !== undefined);
  for (const { killedBy } of killed) count(killedBy as Error);
  for (const { connection } of innocents) connection.close();
  return { killed: killed.length, starved, problems };
}

async function openAndCancel(target: LoadTarget, script: Script): Promise<void> {
  const connection = await openStream(target, script);
  connection.close();
}

async function starvedAfter(innocents: readonly Innocent[], waitMs: number): Promise<number> {
  const before = innocents.map(({ deltas }) => deltas);
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  return innocents.filter(({ deltas, killedBy }, index) => !killedBy && deltas === before[index]).length;
}
