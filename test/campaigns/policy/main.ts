/** npm run policy -- [--only NAMES] [--rounds N] [--asked N]: how soon a change of policy takes effect, and the cost of administration. */
import { parseArgs } from "node:util";
import { parseNumber, readOrExit } from "../../support/runner/campaign-options.ts";
import type { Installation } from "../../support/installation.ts";
import { startPolicyInstallation } from "./administrator.ts";
import { measureBulk } from "./bulk.ts";
import { measureCutOff } from "./cut-off.ts";
import { measureEnforcement } from "./enforcement.ts";
import type { Figure } from "./figure.ts";
import { measureManyKeys } from "./many-keys.ts";
import { flatPriceModel, measureOvershoot } from "./overshoot.ts";

interface Effort {
  readonly rounds: number;
  /** Number of requests at the same time. */
  readonly asked: number;
}

type Measure = (installation: Installation, effort: Effort) => Promise<Figure[]>;

const measures: Readonly<Record<string, Measure>> = {
  enforcement: (installation, { rounds }) => measureEnforcement(installation, rounds),
  "cut-off": (installation, { rounds }) => measureCutOff(installation, Math.ceil(rounds / 10)),
  bulk: (installation, { rounds }) => measureBulk(installation, rounds),
  "many-keys": ({ databaseUrl }) => measureManyKeys(databaseUrl, 2_000),
  overshoot: (installation, { asked }) => measureOvershoot(installation, asked),
};

const usage = `usage: npm run policy -- [--only ${Object.keys(measures).join()}] [--rounds N] [--asked N]`;

function read(): { readonly names: readonly string[]; readonly effort: Effort } {
  const { values } = parseArgs({
    options: { only: { type: "string" }, rounds: { type: "string" }, asked: { type: "string" } },
  });
  const names = values.only?.split(",") ?? Object.keys(measures);
  for (const name of names) if (!Object.hasOwn(measures, name)) throw new Error(`unknown measure: ${name}`);
  const rounds = parseNumber("rounds", { default: 100, min: 1, max: 100_000 }, values.rounds);
  const asked = parseNumber("asked", { default: 10_000, min: 1, max: 1_000_000 }, values.asked);
  return { names, effort: { rounds, asked } };
}

const { names, effort } = readOrExit(read, usage);
const installation = await startPolicyInstallation(flatPriceModel);
try {
  for (const take of names.map((name) => measures[name] as Measure)) {
    for (const { measure, found, goal, reached } of await take(installation, effort)) {
      console.log(`${reached ? "reached" : "MISSED "}  ${measure}\n         ${found}  (goal: ${goal})`);
      if (!reached) process.exitCode = 1;
    }
  }
} finally {
  await installation.stop();
}
