/**
 * A detector of the operator behind a webhook: it gets a signed message with a text, and answers with findings.
 *
 * The answer is trusted no more than that of other detectors: only labels, scores and places are taken from it, a place
 * outside of the text makes the whole answer unreadable, and the guardrail's rule decides what a finding causes.
 */
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { signWebhook } from "@sluice/proto/lib/webhooks/standard-webhook.js";
import { categoriesOf, isScore } from "./categories.ts";
import { placesIn } from "./places.ts";
import { type Detection, DetectorUnavailable, type DetectorWire } from "./wire.ts";

interface Finding {
  readonly label: string;
  readonly score?: number | undefined;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

/** Score of a finding for which the webhook states none. */
const certain = 1;

export function webhook(settings: DetectorSettings): DetectorWire {
  const categories = categoriesOf(settings);
  const { id: detector, secret = "", finds = "spans", offsets = "code_points" } = settings;
  const { pathname, search } = new URL(settings.base_url);
  return {
    kind: "webhook",
    returnsSpans: finds === "spans",
    tellsSides: true,
    path: pathname + search,
    windowLength: 8_000,
    bodyOf: (text, side) =>
      JSON.stringify({
        type: "guardrail.check",
        timestamp: new Date().toISOString(),
        data: { detector, direction: side, text },
      }),
    fieldsOf: (body, id) => signWebhook(secret, id, body, new Date()),
    marksOf(answer, text) {
      const findings = (answer as { findings?: unknown } | null)?.findings;
      if (!Array.isArray(findings)) throw new DetectorUnavailable("no list of findings");
      const spanOf = placesIn(text, offsets);
      const whole: TextSpan = { start: 0, end: text.length };
      return findings.flatMap((finding: unknown): Detection[] => {
        if (!isFinding(finding, finds === "spans")) throw new DetectorUnavailable("a finding of another form");
        const { label, score = certain, start, end } = finding;
        const span = start === undefined || end === undefined ? whole : spanOf({ start, end });
        const taken = finds === "spans" ? span : whole;
        return (categories.get(label) ?? []).map((category) => ({ ...taken, category, score }));
      });
    },
  };
}

function isFinding(value: unknown, needsPlace: boolean): value is Finding {
  const { label, score, start, end } = (value ?? {}) as Partial<Finding>;
  const hasPlace = Number.isInteger(start) && Number.isInteger(end);
  const hasNone = start === undefined && end === undefined;
  return typeof label === "string" && (score === undefined || isScore(score)) && (hasPlace || (hasNone && !needsPlace));
}
