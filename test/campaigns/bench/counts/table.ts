/** The counts as a Markdown table, with their places on request. */
import { type CountsByService, countedServices } from "./counted-installation.ts";
import type { LoadCounts } from "./measure.ts";

export interface CountedBuild {
  readonly title: string;
  readonly build: string;
  readonly counts: LoadCounts;
}

const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const columns = [
  "per",
  "build",
  "promises: gateway",
  "inference-svc",
  "both",
  "KB: gateway",
  "inference-svc",
  "both",
  "KB that outlive a young collection: gateway",
  "inference-svc",
  "both",
];

/** @returns the amount per request or event in gateway, in inference-svc and in both */
export function amountsPerUnit(counts: CountsByService, units: number): readonly [number, number, number] {
  const gateway = counts.gateway.amount / units;
  const inference = counts["inference-svc"].amount / units;
  return [gateway, inference, gateway + inference];
}

export function countTable(results: readonly CountedBuild[]): string {
  const lines = results.map(({ title, build, counts: { promises, bytes, survivors, units } }) =>
    row([
      title,
      build,
      ...amountsPerUnit(promises, units).map((count) => count.toFixed(2)),
      ...amountsPerUnit(bytes, units).map((count) => (count / 1_000).toFixed(2)),
      ...amountsPerUnit(survivors, units).map((count) => (count / 1_000).toFixed(2)),
    ]),
  );
  return [row(columns), row(columns.map(() => "---")), ...lines, ""].join("\n");
}

export function placesText({ title, build, counts }: CountedBuild): string {
  const lines: string[] = [];
  for (const quantity of ["bytes", "survivors", "promises"] as const) {
    for (const service of countedServices) {
      lines.push(`${build}: ${quantity} of ${service} per ${title}`);
      for (const [label, amount] of counts.places[quantity][service].places)
        lines.push(`${(amount / counts.units).toFixed(quantity === "promises" ? 2 : 0).padStart(8)}  ${label}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
