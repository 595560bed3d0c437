/** Functions of Sluice that this process enters between two calls. */
import { readFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";
import { fileURLToPath } from "node:url";
import { AmountsByLabel, describePlace, isSluice } from "./labels.ts";
import { sourceOf } from "./sources.ts";

const bundled = /^file:.*\/(?:gateway|inference-svc)\/bundle\//;

export class Functions {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
  }

  start(): void {
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    // Each report covers the time since the previous one. This first report, since the start of the process, is dropped.
    this.#session.post("Profiler.takePreciseCoverage");
  }

  /** @returns the number of functions entered, and the calls of each */
  stop(): { readonly amount: number; readonly tally: AmountsByLabel } {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    // Inside its own process, the inspector answers before `post` returns.
    this.#session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error) throw error;
      scripts = result;
    });
    this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.post("Profiler.disable");
    const tally = new AmountsByLabel();
    for (const script of scripts) if (bundled.test(script.url)) addEntered(tally, script);
    return { amount: tally.size, tally };
  }
}

function addEntered(tally: AmountsByLabel, { url, functions }: Profiler.ScriptCoverage): void {
  const lineStarts = findLineStarts(readFileSync(fileURLToPath(url), "utf8"));
  for (const { functionName: name, ranges } of functions) {
    const [whole] = ranges;
    // The module itself appears as a function at offset 0.
    if (whole === undefined || whole.count === 0 || whole.startOffset === 0) continue;
    const line = lineStarts.findLastIndex((start) => start <= whole.startOffset);
    const column = whole.startOffset - (lineStarts[line] as number) + 1;
    const place = sourceOf({ name, file: url, line: line + 1, column });
    if (isSluice(place) && place.file !== url) tally.add(describePlace(place), whole.count);
  }
}

function findLineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
