/** Which international numbers can exist: country codes, lengths and first digits from the metadata of libphonenumber. */
import { Metadata } from "libphonenumber-js/min";

interface Plan {
  readonly lengths: ReadonlySet<number>;
  readonly pattern: RegExp;
}

/** As the package has it; its declarations know no plan but a country's. */
interface Plans {
  hasCallingCode(code: string): boolean;
  selectNumberingPlan(code: string): void;
  readonly numberingPlan: { possibleLengths(): readonly number[]; nationalNumberPattern(): string };
}

const metadata = new Metadata() as unknown as Plans;
const plans = new Map<string, Plan | undefined>();

/** Made on first use: of some 200 plans a house meets few. */
function planOf(code: string): Plan | undefined {
  if (!plans.has(code)) plans.set(code, readPlan(code));
  return plans.get(code);
}

function readPlan(code: string): Plan | undefined {
  if (!metadata.hasCallingCode(code)) return undefined;
  metadata.selectNumberingPlan(code);
  const { numberingPlan } = metadata;
  return {
    lengths: new Set(numberingPlan.possibleLengths()),
    pattern: new RegExp(`^(?:${numberingPlan.nationalNumberPattern()})$`),
  };
}

/** Whether these digits are a country code and a number that its plan has. No code is the beginning of another. */
export function isInternational(number: string): boolean {
  for (let size = 1; size <= 3; size++) {
    const plan = planOf(number.slice(0, size));
    if (plan === undefined) continue;
    const national = number.slice(size);
    return plan.lengths.has(national.length) && plan.pattern.test(national);
  }
  return false;
}
