/** Processor time of this process between two calls, by kind of code, from Node's sampling profiler. */
import { type Profiler, Session } from "node:inspector";
import { AmountsByLabel } from "./labels.ts";
import { sourceOf } from "./sources.ts";

const intervalUs = 500;

export class CpuKinds {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
  }

  start(): void {
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.setSamplingInterval", { interval: intervalUs });
    this.#session.post("Profiler.start");
  }

  /** @returns microseconds, without idle time */
  stop(): { readonly amount: number; readonly tally: AmountsByLabel } {
    let profile: Profiler.Profile | undefined;
    // Inside its own process, the inspector answers before `post` returns.
    this.#session.post("Profiler.stop", (error, result) => {
      if (error) throw error;
      profile = result.profile;
    });
    this.#session.post("Profiler.disable");
    if (profile === undefined) throw new Error("the inspector gave no profile");
    const kinds = new Map(profile.nodes.map(({ id, callFrame }) => [id, kindOf(callFrame)]));
    const tally = new AmountsByLabel();
    let amount = 0;
    for (const [index, id] of (profile.samples ?? []).entries()) {
      const kind = kinds.get(id) ?? "unknown";
      const us = profile.timeDeltas?.[index] ?? 0;
      if (kind === "(idle)") continue;
      amount += us;
      tally.add(kind, us);
    }
    return { amount, tally };
  }
}

function kindOf(frame: Profiler.Profile["nodes"][number]["callFrame"]): string {
  const { functionName, url, lineNumber, columnNumber } = frame;
  if (functionName === "(program)") return "C++ and kernel outside of functions, with some waiting";
  if (functionName === "(garbage collector)") return "garbage collection, main thread";
  if (functionName === "(idle)" || functionName === "(root)") return "(idle)";
  if (url.startsWith("node:")) return "JavaScript of Node, with what V8 does for it";
  const { file } = sourceOf({ name: functionName, file: url, line: lineNumber + 1, column: columnNumber + 1 });
  if (file.includes("/node_modules/")) return "JavaScript of dependencies, with what V8 does for it";
  if (url === "") return "native functions that JavaScript calls, kernel included";
  return "JavaScript of Sluice, with what V8 does for it";
}
