/** npm run policy -- [--only NAMES] [--rounds N] [--asked N]: how soon a change of policy holds, and what administration costs. */
import { parseArgs } from "node:util";
import type { House } from "../support/house.ts";
import { openHouse } from "./administrator.ts";
import { measureBulk } from "./bulk.ts";
import { measureCutOff } from "./cut-off.ts";
import { measureEnforcement } from "./enforcement.ts";
import type { Figure } from "./figure.ts";
import { measureManyKeys } from "./many-keys.ts";
import { flatModel, measureOvershoot } from "./overshoot.ts";

interface Effort {
  readonly rounds: number;
  /** Requests at once. */
  readonly asked: number;
}

const measures: Readonly<Record<string, (house: House, effort: Effort) => Promise<Figure[]>>> = {
  enforcement: (house, { rounds }) => measureEnforcement(house, rounds),
  "cut-off": (house, { rounds }) => measureCutOff(house, Math.ceil(rounds / 10)),
  bulk: (house, { rounds }) => measureBulk(house, rounds),
  "many-keys": ({ databaseUrl }) => measureManyKeys(databaseUrl, 2_000),
  overshoot: (house, { asked }) => measureOvershoot(house, asked),
};

const { values } = parseArgs({
  options: {
    only: { type: "string", default: Object.keys(measures).join() },
    rounds: { type: "string", default: "100" },
    asked: { type: "string", default: "10000" },
  },
});
const effort = { rounds: Number(values.rounds), asked: Number(values.asked) };

const house = await openHouse(flatModel);
try {
  for (const name of values.only.split(",")) {
    const take = measures[name];
    if (!take) throw new Error(`no measure is called ${name}: ${Object.keys(measures).join(", ")}`);
    for (const { measure, found, goal, reached } of await take(house, effort)) {
      console.log(`${reached ? "reached" : "MISSED "}  ${measure}\n         ${found}  (goal: ${goal})`);
      if (!reached) process.exitCode = 1;
    }
  }
} finally {
  await house.stop();
}
