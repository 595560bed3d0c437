/** Lets services look at what is said, after everything that patterns redact is gone from it. Not there for callers without such rules for the output. */
import type { Layer } from "../../turn/turn.ts";
import { notApplicable } from "../not-applicable.ts";
import { outputGate } from "../output/layer.ts";
import { failsOpen } from "../policy.ts";
import { type DetectorMap, detectedRules } from "./rules.ts";
import { StretchScan } from "./stretch-scan.ts";

export const detectedOutput = (detectors: DetectorMap): Layer =>
  // A service reads each item by itself, since it is asked about all of a text before its end.
  outputGate("items", (scope, report) => {
    const { rules, missing } = detectedRules(scope.caller, "output", detectors);
    for (const rule of missing) report.failed(rule);
    const closed = missing.find((rule) => !failsOpen(rule));
    if (closed) throw notApplicable(new Error(closed.outage));
    return rules.map((rule, rank) => ({ ...rule, rank, finder: { open: () => new StretchScan(rule, scope) } }));
  });
