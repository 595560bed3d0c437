/** Cases from templates that are independent of the detectors: they were written before the detectors first ran, and left unchanged. */
import { Random } from "../../../support/random.ts";
import { type LabelledText, parseLabelledText } from "../corpus.ts";
import { addressTemplates as address } from "./address.ts";
import { creditCardTemplates as creditCard } from "./credit-card.ts";
import { emailTemplates as email } from "./email.ts";
import { ipAddressTemplates as ipAddress } from "./ip-address.ts";
import { personNameTemplates as personName } from "./person-name.ts";
import { phoneTemplates as phone } from "./phone.ts";
import { promptInjectionTemplates as promptInjection } from "./regex-prompt-injection.ts";
import { secretTemplates as secrets } from "./secrets.ts";
import { ssnTemplates as ssn } from "./ssn.ts";
import { type Templates, fillTemplate } from "./template.ts";

const bySlug: Readonly<Record<string, Templates>> = {
  email,
  phone,
  ssn,
  "credit-card": creditCard,
  "ip-address": ipAddress,
  secrets,
  "person-name": personName,
  address,
  "regex-prompt-injection": promptInjection,
};

/** Number of cases for each detector: enough that a single case moves a figure by a tenth of a per cent. */
const count = 1_000;
const seed = 20_261_122;

/** Generated cases, of which every second is a negative. The same seed gives the same cases. */
export function generatedCases(slug: string): readonly LabelledText[] {
  const templates = bySlug[slug];
  if (templates === undefined) throw new Error(`no templates for ${slug}`);
  const chance = new Random(seed, slug.length);
  return Array.from({ length: count }, (_, index) => {
    const template = chance.pick(index % 2 === 0 ? templates.negative : templates.positive);
    return parseLabelledText(fillTemplate(template, templates.fillers, chance));
  });
}
