/** One disguised text: what is delivered piece by piece is what is delivered of the whole, with every secret replaced and all else as it was. */
import { Channel } from "@sluice/inference-svc/guardrails/output/channel.js";
import { Part } from "@sluice/inference-svc/guardrails/output/part.js";
import { Report } from "@sluice/inference-svc/guardrails/output/report.js";
import { compilePattern } from "@sluice/proto/runtime/pattern/pattern.js";
import { type Disguised, secrets } from "./disguises.ts";
import { type Tally, done, redacting } from "./trial.ts";

const rules = secrets.map((secret, index) => redacting(secret, compilePattern(secret), index));

/** @returns what is wrong; undefined when nothing is */
export function disguiseTrial({ hidden, pieces }: Disguised, tally: Tally): string | undefined {
  const text = pieces.join("");
  let expected = "";
  let rest = text;
  for (const { secret, written } of hidden) {
    const at = rest.indexOf(written);
    expected += `${rest.slice(0, at)}<${secrets.indexOf(secret)}>`;
    rest = rest.slice(at + written.length);
  }
  expected += rest;
  tally.runs++;
  tally.pieces += pieces.length;
  tally.matches += hidden.length;
  return delivered(pieces, expected, tally) ?? delivered([text], expected, tally);
}

function delivered(pieces: readonly string[], expected: string, tally: Tally): string | undefined {
  let shown = "";
  const channel = new Channel(rules, new Report());
  const part = new Part("text", { strand: "text", item: 0 }, (text) => (shown += text));
  for (const piece of pieces) {
    done(channel.push(part, piece));
    if (pieces.length > 1) tally.held += channel.held;
    if (!expected.startsWith(shown)) break;
  }
  done(channel.end());
  if (shown === expected) return undefined;
  return `delivered ${JSON.stringify(shown)} instead of ${JSON.stringify(expected)}, in ${JSON.stringify(pieces)}`;
}
