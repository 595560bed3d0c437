/** Bytes that V8 allocates in this process between two calls, estimated from samples: all of them, or those that survive young collections. */
import { type HeapProfiler, Session } from "node:inspector";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type CodePosition, AmountsByLabel, labelOf } from "./labels.ts";
import { sourceOf } from "./sources.ts";

/** Average bytes between two samples, with which the error of 50 MB is below one per cent. */
const samplingInterval = 4_096;

type Collect = (options: { readonly type: "minor" | "major" }) => void;

/** @param outliving counts only objects that survive the young collections before the end */
export class Allocations {
  readonly #session = new Session();
  readonly #outliving: boolean;
  #collect: Collect | undefined;

  constructor({ outliving }: { readonly outliving: boolean }) {
    this.#session.connect();
    this.#outliving = outliving;
  }

  start(): void {
    // A full collection moves everything in use to the old generation. An old object that dies later keeps its references alive, as in a long-lived
    // process.
    if (this.#outliving) this.#collector({ type: "major" });
    this.#session.post("HeapProfiler.startSampling", {
      samplingInterval,
      // These two settings include objects that were collected before the end.
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: !this.#outliving,
    } as HeapProfiler.StartSamplingParameterType);
  }

  /** @returns bytes since the start, and the places of their allocation */
  stop(): { readonly amount: number; readonly tally: AmountsByLabel } {
    if (this.#outliving) this.#collector({ type: "minor" });
    let profile: HeapProfiler.SamplingHeapProfile | undefined;
    // Inside its own process, the inspector answers before `post` returns.
    this.#session.post("HeapProfiler.stopSampling", (error, result) => {
      if (error) throw error;
      profile = result.profile;
    });
    if (profile === undefined) throw new Error("the inspector gave no profile");
    const tally = new AmountsByLabel();
    return { amount: add(tally, profile.head, []), tally };
  }

  get #collector(): Collect {
    setFlagsFromString("--expose-gc");
    // The function exists only in a context made after the flag was set.
    this.#collect ??= runInNewContext("gc") as Collect;
    return this.#collect;
  }
}

function add(
  tally: AmountsByLabel,
  node: HeapProfiler.SamplingHeapProfileNode,
  callers: readonly CodePosition[],
): number {
  const { functionName: name, url: file, lineNumber, columnNumber } = node.callFrame;
  const stack = [sourceOf({ name, file, line: lineNumber + 1, column: columnNumber + 1 }), ...callers];
  if (node.selfSize > 0) tally.add(labelOf(stack), node.selfSize);
  return node.children.reduce((sum, child) => sum + add(tally, child, stack), node.selfSize);
}
