/** Runs after the tests: ends what the setup has started. */
import { afterRun } from "./setup.ts";

export default async function teardown(): Promise<void> {
  for (const step of afterRun) await step();
}
