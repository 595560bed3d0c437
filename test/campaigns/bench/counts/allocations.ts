/** Bytes allocated by V8 in this process between two calls, from a sample of its allocations. */
import { type HeapProfiler, Session } from "node:inspector";
import { type CodePosition, AmountsByLabel, labelOf } from "./labels.ts";
import { sourceOf } from "./sources.ts";

/** Average bytes between two samples: the error of 50 MB is then below a percent. */
const samplingInterval = 4_096;

export class Allocations {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
  }

  start(): void {
    this.#session.post("HeapProfiler.startSampling", {
      samplingInterval,
      // These two settings include objects collected before the end.
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    } as HeapProfiler.StartSamplingParameterType);
  }

  /** @returns bytes since the start, and the places of all of them */
  stop(): { readonly amount: number; readonly tally: AmountsByLabel } {
    let profile: HeapProfiler.SamplingHeapProfile | undefined;
    // In its own process the inspector answers before `post` returns.
    this.#session.post("HeapProfiler.stopSampling", (error, result) => {
      if (error) throw error;
      profile = result.profile;
    });
    if (profile === undefined) throw new Error("the inspector gave no profile");
    const tally = new AmountsByLabel();
    return { amount: add(tally, profile.head, []), tally };
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
