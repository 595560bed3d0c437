/** Checks the detectors named in a new or changed guardrail against the configuration file. */
import type { DetectorRule } from "@sluice/proto/contract/records/detector-rules.js";
import type { NamedDetector } from "@sluice/proto/config/detectors.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";

/** A request body with detectors. */
export interface WithDetectorNames {
  readonly detectors?: readonly Pick<DetectorRule, "detector" | "category">[] | null;
}

/**
 * gRPC requests to admin-svc skip this check: admin-svc reads no configuration file, and the file may gain the detector later. A rule without its detector
 * counts as failed, and the guardrail's `on_error` decides.
 * @throws Fault INVALID_REQUEST
 */
export function checkDetectors({ detectors }: WithDetectorNames, configured: readonly NamedDetector[]): void {
  if (!detectors) return;
  throwProblems((problems) => {
    for (const [index, { detector: id, category }] of detectors.entries()) {
      const detector = configured.find((known) => known.id === id);
      if (!detector) {
        problems.add(
          `detectors.${index}.detector`,
          `the configuration file has no detector ${id}${listOf(configured.map((known) => known.id))}`,
        );
      } else if (!Object.hasOwn(detector.categories, category)) {
        const known = listOf(Object.keys(detector.categories));
        problems.add(
          `detectors.${index}.category`,
          `the configuration file gives detector ${id} no category ${category}${known}`,
        );
      }
    }
  });
}

const listOf = (names: readonly string[]): string => (names.length === 0 ? "" : `, but ${names.join(", ")}`);
