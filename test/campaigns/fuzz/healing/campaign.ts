/** Damages objects in every applicable way, and counts those healed to the original. */
import { isDeepStrictEqual } from "node:util";
import { type Verdict, anyObject, healJson } from "@sluice/inference-svc/features/healing/ladder.js";
import type { Yielding } from "@sluice/inference-svc/turn/time-slice.js";
import { Random } from "../../../support/random.ts";
import { truncateJson, jsonDefects, objectOf, pythonWords, withoutBooleans } from "./generate.ts";

export interface HealingTally {
  spoiled: number;
  healed: number;
  left: number;
  /** Number of texts healed to something other than the original. */
  wrong: number;
}

export interface HealingReport {
  readonly seed: number;
  /** Counts by the name of the damage. */
  readonly tallies: ReadonlyMap<string, HealingTally>;
  /** Violations whatever the damage: a change of valid JSON, or a result that is not the object. */
  readonly complaints: readonly string[];
  /** Some of the texts healed to something other than the original. */
  readonly wrong: readonly string[];
}

export function finishHealing<Result>(work: Yielding<Result>): Result {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

const names = [...jsonDefects.map(({ name }) => name), "two of them"];

/** @param count number of objects to damage */
export function healingCampaign(seed: number, count: number): HealingReport {
  const tallies = new Map(
    names.map((name): [string, HealingTally] => [name, { spoiled: 0, healed: 0, left: 0, wrong: 0 }]),
  );
  const complaints: string[] = [];
  const wrong: string[] = [];
  for (let number = 0; number < count; number++) {
    const random = new Random(seed, number);
    const value = objectOf(random);
    const text = JSON.stringify(value, null, random.pick([0, 2]));
    if (finishHealing(healJson(text, anyObject)).is !== "right") complaints.push(`changed what is right: ${text}`);
    const truncated = truncateJson(text, random);
    const rest = finishHealing(healJson(truncated, anyObject));
    if (rest.is === "healed" && !/^[\]}]+$/.test(rest.text.slice(truncated.trimEnd().length))) {
      complaints.push(`made up an end: ${truncated}`);
    }
    const [one, two] = [random.pick(jsonDefects), random.pick(jsonDefects)];
    const both = { name: "two of them", spoil: (text: string) => two.spoil(one.spoil(text, random) ?? text, random) };
    for (const { name, spoil } of [...jsonDefects, both]) {
      const spoiled = spoil(text, random);
      if (spoiled === undefined || isJson(spoiled, value)) continue;
      const tally = tallies.get(name) as HealingTally;
      const verdict = finishHealing(healJson(spoiled, anyObject));
      tally.spoiled++;
      const isPython = name === pythonWords || (name === both.name && [one.name, two.name].includes(pythonWords));
      const outcome = outcomeOf(verdict, isPython ? withoutBooleans(value) : value);
      tally[outcome]++;
      if (outcome === "wrong" && wrong.length < 20)
        wrong.push(`${name}: ${spoiled}\n  became ${(verdict as { text?: string }).text}`);
      const complaint = complaintOf(verdict);
      if (complaint !== undefined) complaints.push(`${complaint}: ${spoiled}`);
    }
  }
  return { seed, tallies, complaints, wrong };
}

/** Checks the rules for every healed text: the result is an object, and healing it again changes nothing. */
function complaintOf(verdict: Verdict): string | undefined {
  if (verdict.is !== "healed") return undefined;
  if (!verdict.text.trimStart().startsWith("{")) return "not an object";
  return finishHealing(healJson(verdict.text, anyObject)).is === "right" ? undefined : "mended twice";
}

function outcomeOf(verdict: Verdict, expected: unknown): "healed" | "left" | "wrong" {
  if (verdict.is === "left") return "left";
  if (verdict.is === "right") return "wrong";
  return isDeepStrictEqual(JSON.parse(verdict.text), expected) ? "healed" : "wrong";
}

function isJson(text: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), value);
  } catch {
    return false;
  }
}

export function healingLines({ seed, tallies, complaints, wrong }: HealingReport): readonly string[] {
  const total: HealingTally = { spoiled: 0, healed: 0, left: 0, wrong: 0 };
  for (const tally of tallies.values())
    for (const name of ["spoiled", "healed", "left", "wrong"] as const) total[name] += tally[name];
  const line = (name: string, { spoiled, healed, left, wrong }: HealingTally) =>
    `${name}: ${healed} of ${spoiled} healed (${((100 * healed) / Math.max(1, spoiled)).toFixed(1)} %), ${left} left, ${wrong} wrong`;
  return [
    ...[...tallies].map(([name, tally]) => line(name, tally)),
    ...wrong,
    ...complaints,
    line(`healing: seed ${seed}`, total),
  ];
}
