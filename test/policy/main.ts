/** npm run policy -- [--rounds N] [--asked N]: how soon a change of policy holds, and what administration costs. */
import { parseArgs } from "node:util";
import { openHouse } from "./administrator.ts";
import { measureCutOff } from "./cut-off.ts";
import { measureEnforcement } from "./enforcement.ts";
import type { Figure } from "./figure.ts";
import { flatModel, measureOvershoot } from "./overshoot.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "100" }, asked: { type: "string", default: "10000" } },
});
const rounds = Number(values.rounds);

const tell = (figures: readonly Figure[]): void => {
  for (const { measure, found, goal, reached } of figures) {
    console.log(`${reached ? "reached" : "MISSED "}  ${measure}\n         ${found}  (goal: ${goal})`);
    if (!reached) process.exitCode = 1;
  }
};

// One measure after the other, each on what the one before has left: as operators find it.
const house = await openHouse(flatModel);
try {
  tell(await measureEnforcement(house, rounds));
  tell(await measureCutOff(house, Math.max(1, Math.round(rounds / 10))));
  tell(await measureOvershoot(house, Number(values.asked)));
} finally {
  await house.stop();
}
