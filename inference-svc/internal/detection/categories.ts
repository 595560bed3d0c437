/** What a service calls the things it finds, and what the house file calls them. */
import type { DetectorSettings } from "@sluice/proto/runtime/house/detectors.js";

/** Of each label of the service the categories that it stands for. */
export function categoriesOf({ categories }: DetectorSettings): ReadonlyMap<string, readonly string[]> {
  const byLabel = new Map<string, string[]>();
  for (const [category, labels] of Object.entries(categories)) {
    for (const label of labels) byLabel.set(label, [...(byLabel.get(label) ?? []), category]);
  }
  return byLabel;
}

export const isScore = (value: unknown): value is number => typeof value === "number" && value >= 0 && value <= 1;
