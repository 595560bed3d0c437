/** Role: the clients. It counts arrivals, and measures the machine at the same moments. */
import { setTimeout as delay } from "node:timers/promises";
import { cancelBatches } from "../client/cancel.ts";
import { storm } from "../client/storm.ts";
import { offerLoad } from "../client/offered-load.ts";
import { SteppedStream, exchangeAll } from "../client/lockstep.ts";
import { IdleStreams } from "../client/idle.ts";
import { watchStalled } from "../client/stalled.ts";
import { UnreadStreams, timeStream } from "../client/unread-streams.ts";
import type { LoadTarget } from "../client/target.ts";
import { ClientLoad, type ClientLoadOptions } from "../client/workload.ts";
import { type WindowOptions, type ResourceUse, measureWindow } from "../measure/window.ts";
import { serve } from "./commands.ts";

export interface LoadWindowOptions extends ClientLoadOptions, WindowOptions {
  /** Milliseconds from the start of the load to the start of the window. */
  readonly rampMs: number;
}

export interface OpenWindow extends ResourceUse {
  readonly units: number;
  readonly firstMs: readonly number[];
}

export interface LoadWindow extends OpenWindow {
  /** Number of failures until the end of the load, by message. */
  readonly problems: ReadonlyMap<string, number>;
}

/** Milliseconds for the target to notice that the clients have left. */
const settleMs = 200;

let load: ClientLoad | undefined;

/** Opens a window. The load continues after it, until `endLoad`. */
async function openWindow(options: LoadWindowOptions): Promise<OpenWindow> {
  const begun = (load = new ClientLoad(options));
  begun.start();
  await delay(options.rampMs);
  let units = 0;
  const use = await measureWindow(options, () => {
    units = begun.units - units;
    if (units === begun.units) begun.firstMs = [];
  });
  return { ...use, units, firstMs: begun.firstMs };
}

async function endLoad(): Promise<LoadWindow["problems"]> {
  await load?.stop();
  await delay(settleMs);
  return load?.problems ?? new Map();
}

const window = async (options: LoadWindowOptions): Promise<LoadWindow> => ({
  ...(await openWindow(options)),
  problems: await endLoad(),
});

const unread = new UnreadStreams();
const idle = new IdleStreams();
let stepped: SteppedStream | undefined;

const commands = {
  window,
  openWindow,
  endLoad,
  offer: offerLoad,
  cancelBatches,
  storm,
  openUnread: unread.open.bind(unread),
  closeUnread: unread.close.bind(unread),
  timeStream,
  exchangeAll,
  openStepped: ({ target, direct }: { readonly target: LoadTarget; readonly direct: LoadTarget }) => {
    stepped = new SteppedStream(target, direct);
    return stepped.begun();
  },
  step: (count: number) => stepped?.step(count),
  closeStepped: () => stepped?.close(),
  openIdle: idle.open.bind(idle),
  closeIdle: idle.close.bind(idle),
  watchStalled,
};
export type LoadCommands = typeof commands;
serve(commands);
