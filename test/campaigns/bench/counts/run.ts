/** `npm run bench -- --counts`: counts each load in an installation of each checkout, one after the other. */
import { openCheckout } from "../checkouts.ts";
import { CountBench, type CountedLoadId, countedLoads } from "./measure.ts";
import { type CountedBuild, countTable, placesText } from "./table.ts";

export interface CountOptions {
  readonly loads: readonly CountedLoadId[];
  readonly checkouts: readonly string[];
  /** Number of largest places to report. */
  readonly places: number;
}

export async function runCounts(
  { loads, checkouts, places }: CountOptions,
  say: (line: string) => void,
  interruption: AbortSignal,
): Promise<string> {
  const results: CountedBuild[] = [];
  for (const path of checkouts.length === 0 ? [undefined] : checkouts) {
    const checkout = await openCheckout(path, say);
    say(`starting the installation of ${checkout.name}`);
    const bench = await CountBench.open({ checkout: checkout.path, embeddedPostgres: true });
    try {
      for (const id of loads) {
        if (interruption.aborted) break;
        say(`  ${id}`);
        results.push({
          title: countedLoads[id].title,
          build: checkout.name,
          counts: await bench.count(countedLoads[id], places),
        });
      }
    } finally {
      await bench.stop();
    }
  }
  // Results of the same load are listed together, one row for each build.
  const order = loads.map((id) => countedLoads[id].title as string);
  results.sort((a, b) => order.indexOf(a.title) - order.indexOf(b.title));
  return [countTable(results), ...(places > 0 ? results.map(placesText) : [])].join("\n");
}
