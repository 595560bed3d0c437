/** Generates request bodies by number: valid, unusual or broken ones, always the same for one seed. */
import { Generator } from "./generate.ts";
import { mutateText, mutateValue } from "./mutate.ts";
import { Random } from "../random.ts";
import type { FuzzedFormat } from "./format.ts";
import { formats } from "./formats.ts";

export function generateBody(seed: number, number: number, format: FuzzedFormat = formats.responses): Buffer {
  const random = new Random(seed, number);
  const body = new Generator(random, format).body();
  if (random.chance(0.9)) format.repair(body, random);
  const fate = random.next();
  if (fate > 0.4 && fate < 0.8) for (let count = 1 + random.below(3); count > 0; count--) mutateValue(body, random);
  const text = JSON.stringify(body);
  return fate < 0.8 ? Buffer.from(text) : mutateText(text, random);
}
