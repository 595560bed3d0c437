/** Measures the cost of parsing a body once, which is the minimum for each process that reads it. */
import type { ResultRow } from "../bench.ts";
import { cpuNs } from "../../../support/machine.ts";
import { median } from "../measure/rounds.ts";

const rounds = 15;
const times = 500;

export function measureParsing(body: string): ResultRow {
  const text = Buffer.from(body);
  const parseUs = () => {
    const before = cpuNs(process.pid);
    for (let n = 0; n < times; n++) JSON.parse(text.toString());
    return (cpuNs(process.pid) - before) / times / 1_000;
  };
  // This first run is not counted, since it compiles the code and warms the caches.
  parseUs();
  return {
    measure: `parsing ${(text.length / 1_000).toFixed(1)} KB of that body once, from bytes`,
    installation: `${median(Array.from({ length: rounds }, parseUs)).toFixed(1)} us`,
    pipe: "",
    ratio: "",
    gate: "",
    verdict: "reported",
  };
}
