/** The built-in detectors guardrails can name. */
import { address } from "./address/index.ts";
import { creditCard } from "./credit-card.ts";
import type { BuiltinDetector } from "./detector.ts";
import { email } from "./email.ts";
import { ipAddress } from "./ip-address.ts";
import { personName } from "./person-name.ts";
import { phone } from "./phone.ts";
import { promptInjection } from "./prompt-injection/index.ts";
import { secrets } from "./secrets/index.ts";
import { ssn } from "./ssn.ts";

export const builtinDetectors: readonly BuiltinDetector[] = [
  email,
  phone,
  ssn,
  creditCard,
  ipAddress,
  secrets,
  personName,
  address,
  promptInjection,
];
