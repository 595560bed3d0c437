/** Tests of unmodified clients, held to what the documentation says of them. */
import { describe, test } from "@jest/globals";
import { type ClientDoor, type ClientFeature, coveredClients, versionOf } from "./table.ts";

/** One test for each feature that the table says of a client. @throws when the table says others than there are tests */
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
