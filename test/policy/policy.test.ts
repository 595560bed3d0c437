/** A few rounds of each measure: npm run policy takes more. What depends on the speed of the machine has its goal there, and a bound here. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { House } from "../support/house.ts";
import { openHouse } from "./administrator.ts";
import { measureCutOff } from "./cut-off.ts";
import { measureEnforcement } from "./enforcement.ts";
import { flatModel, measureOvershoot } from "./overshoot.ts";

let house: House;
beforeAll(async () => {
  house = await openHouse(flatModel);
});
afterAll(() => house?.stop());

test("an assignment that was answered is in force everywhere", async () => {
  const [, afterAnswer] = await measureEnforcement(house, 5);
  expect(afterAnswer).toMatchObject({ reached: true });
});

test("what is cut off follows within five seconds while it can ask, and serves whom it knows while it cannot", async () => {
  for (const figure of await measureCutOff(house, 2)) expect(figure).toMatchObject({ reached: true });
});

test("a budget asked for by ten times as many as fit, all at once, is not overspent", async () => {
  for (const figure of await measureOvershoot(house, 1_000)) expect(figure).toMatchObject({ reached: true });
});
