/** Detectors that a guardrail names: those that the house does not have are refused while somebody is there to read it. */
import type { DetectorRule } from "@sluice/proto/contract/detector-rules.js";
import type { NamedDetector } from "@sluice/proto/runtime/house/detectors.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";

/**
 * Who calls admin-svc directly is not asked: it reads no house file, and what a file lacks today it may have tomorrow. Such a rule cannot look, and
 * `on_error` of its guardrail decides.
 * @throws Fault INVALID_REQUEST
 */
export function checkDetectors(
  { detectors }: { readonly detectors?: readonly Pick<DetectorRule, "detector" | "category">[] | null },
  house: readonly NamedDetector[],
): void {
  if (!detectors) return;
  checked((problems) => {
    for (const [index, { detector: id, category }] of detectors.entries()) {
      const detector = house.find((known) => known.id === id);
      if (!detector) {
        problems.add(
          `detectors.${index}.detector`,
          `the house file has no detector ${id}${listOf(house.map((known) => known.id))}`,
        );
      } else if (!Object.hasOwn(detector.categories, category)) {
        const known = listOf(Object.keys(detector.categories));
        problems.add(
          `detectors.${index}.category`,
          `the house file gives detector ${id} no category ${category}${known}`,
        );
      }
    }
  });
}

const listOf = (names: readonly string[]): string => (names.length === 0 ? "" : `, but ${names.join(", ")}`);
