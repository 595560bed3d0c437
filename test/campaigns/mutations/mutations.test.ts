/** The list of faults fits the compiled modules. The tests themselves run with them each night. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SourceTextModule } from "node:vm";
import { expect, test } from "@jest/globals";
import { modules } from "./campaign.ts";
import { plantedFaults } from "./faults.ts";
import { plant } from "./plant.ts";

test.each(plantedFaults.map((fault) => [fault.effect, fault] as const))(
  "a planted fault fits its module: %s",
  (_, fault) => {
    const source = readFileSync(join(modules, `${fault.module}.js`), "utf8");
    const code = plant(source, fault);
    expect(code).not.toBe(source);
    // Code that no engine can read would be found by any test.
    expect(() => new SourceTextModule(code)).not.toThrow();
  },
);

test("a fault without its place in the module is refused", () => {
  const fault = { effect: "", module: "m", code: "b", faulty: "c" };
  expect(plant("abd", fault)).toBe("acd");
  for (const source of ["ad", "abbd"]) expect(() => plant(source, fault)).toThrow("m.js has this code");
});
