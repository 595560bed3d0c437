import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { corpusFolder, hasCorpus, readCorpus } from "./corpus.ts";
import { undecidedComplaints, summaryOf } from "./complaints.ts";
import { type DoorResult, Replay } from "./replay.ts";
import { vendorNames } from "./vendors.ts";

const missing = hasCorpus ? (vendorNames ? undefined : "no mount namespaces") : `no exchanges in ${corpusFolder}`;
const limitMs = 300_000;

(missing === undefined ? describe : describe.skip)(
  `recorded exchanges with providers${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    const exchanges = hasCorpus ? readCorpus() : [];
    let replay: Replay;
    let rows: DoorResult[] = [];

    beforeAll(async () => {
      const begun = performance.now();
      replay = await Replay.start(exchanges);
      rows = await replay.run(exchanges);
      process.stdout.write(`${summaryOf(rows, performance.now() - begun)}\n`);
    }, limitMs);
    afterAll(() => replay?.stop());

    test("give the provider's answers at every endpoint, and requests unchanged or with each change reported", () => {
      expect(undecidedComplaints(rows)).toEqual([]);
    });
  },
);
