/** Maps the labels of a detector service to the categories in the configuration file. */
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";

/** The categories for each label of the service. */
export function categoriesOf({ categories }: DetectorSettings): ReadonlyMap<string, readonly string[]> {
  const byLabel = new Map<string, string[]>();
  for (const [category, labels] of Object.entries(categories)) {
    for (const label of labels) byLabel.set(label, [...(byLabel.get(label) ?? []), category]);
  }
  return byLabel;
}

export const isScore = (value: unknown): value is number => typeof value === "number" && value >= 0 && value <= 1;
