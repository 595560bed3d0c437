/**
 * npm run upgrade -- [--from REVISION] [--files NAME,NAME] [--upgraded SERVICE,SERVICE]: whether a half-upgraded installation keeps its promises.
 * npm run upgrade -- --records N: how long a writer of records waits while a database with N records is upgraded from the schema of migration 0018.
 */
import { parseArgs } from "node:util";
import { readOrExit } from "../../support/runner/campaign-options.ts";
import { runUpgradeCampaign, partialUpgrades, withEarlierBuild } from "./campaign.ts";
import { type Service, services } from "../../support/installation.ts";
import { conformance } from "./conformance.ts";
import { earlierRevision, findCommitHash } from "./earlier.ts";
import { upgradeOwnDatabase } from "./past.ts";

const usage =
  "usage: npm run upgrade -- [--from REVISION] [--files NAME,NAME] [--upgraded SERVICE,SERVICE] | --records N";

const { values } = readOrExit(
  () =>
    parseArgs({
      options: {
        /** Revision of this repository that runs before the upgrade. */
        from: { type: "string", default: earlierRevision },
        /** Files of test/e2e to run, from that revision. */
        files: { type: "string", default: conformance.join() },
        /** Services to upgrade in one installation; every combination if absent. */
        upgraded: { type: "string" },
        /** Number of records in a database to upgrade; no installations run then. */
        records: { type: "string" },
      },
    }),
  usage,
);

if (values.records !== undefined) {
  const upgraded = await upgradeOwnDatabase(Number(values.records));
  console.log(JSON.stringify(upgraded, undefined, 2));
  process.exit(upgraded.worstWaitMs < 1_000 && upgraded.wrongSums === 0 ? 0 : 1);
}

const isService = (name: string): name is Service => (services as readonly string[]).includes(name);
const upgraded = values.upgraded?.split(",");
if (upgraded && !upgraded.every(isService)) {
  console.error(`--upgraded names some of ${services.join(", ")}`);
  process.exit(2);
}
const from = await findCommitHash(values.from);
if (from === undefined) {
  console.error(
    `${values.from} is not in the history of this checkout: git fetch --unshallow, or name another with --from`,
  );
  process.exit(2);
}
const files = values.files.split(",");
const wanted = upgraded ? [upgraded] : partialUpgrades;
const installations = await withEarlierBuild(from, (earlier) =>
  runUpgradeCampaign(earlier, wanted, files, (line) => console.log(line)),
);
const failed = installations.filter(({ verdict }) => verdict.failures !== "");
console.log(`${installations.length} half upgraded installations, ${failed.length} of them with failures`);
if (failed.length > 0) process.exitCode = 1;
