/** Tests of unmodified clients, whose completeness is checked against the documentation. */
import { describe, test } from "@jest/globals";
import { type ClientDoor, type ClientFeature, coveredClients, coveredPrograms, versionOf } from "./table.ts";

/** One test for each feature in the client's row of the table. @throws if features and tests differ */
export function testCoverage(
  installed: string,
  door: ClientDoor,
  tests: Partial<Readonly<Record<ClientFeature, () => Promise<void>>>>,
): void {
  const found = coveredClients.find((each) => each.installed.join() === installed && each.door === door);
  if (!found) throw new Error(`coveredClients has no entry for ${installed} at ${door}`);
  const declared = found.features.toSorted().join();
  if (declared !== Object.keys(tests).toSorted().join())
    throw new Error(`${installed} at ${door}: the table says ${declared}`);
  describe(`${found.client} ${versionOf(found)} at ${door}`, () => {
    for (const feature of found.features) test(feature, tests[feature] as () => Promise<void>);
  });
}

/** The tests for each task in the program's row of the table. @throws if tasks and tests differ */
export function testProgram(program: string, tests: Readonly<Record<string, () => void>>): void {
  const found = coveredPrograms.find((each) => each.program === program);
  if (!found) throw new Error(`coveredPrograms has no entry for ${program}`);
  const declared = found.tasks.toSorted().join();
  if (declared !== Object.keys(tests).toSorted().join()) throw new Error(`${program}: the table says ${declared}`);
  for (const task of found.tasks) describe(`${program} ${found.version}: ${task}`, tests[task] as () => void);
}
