/** A key together with slow readers and a crowd fetching documents, at a small size. The full size: npm run neighbours. */
import { expect, test } from "@jest/globals";
import { runNeighboursCampaign } from "./campaign.ts";

test("slow readers and floods of document requests leave another key its share", async () => {
  const report = await runNeighboursCampaign({
    slowReaders: 150,
    slowKeys: 3,
    documentClients: 100,
    refusedClients: 50,
    turns: 40,
  });
  const { alone, besideSlowReaders, ofSlowKey, aloneAgain, besideDocuments, slowAnswered } = report;
  process.stdout.write(
    `neighbours: p50 beside documents ${(besideDocuments.p50 / aloneAgain.p50).toFixed(1)}x; beside slow readers ${(besideSlowReaders.mean / alone.mean).toFixed(1)}x on average, and ${(besideSlowReaders.mean / ofSlowKey.mean).toFixed(2)}x of a key with slow readers\n`,
  );
  expect([besideSlowReaders.refused, ofSlowKey.refused, besideDocuments.refused]).toEqual([0, 0, 0]);
  expect(slowAnswered).toBeGreaterThan(0);
  // Without limits the wait was 50 to 100 times as long. The bound of 10 leaves room for a machine with other work.
  expect(besideDocuments.p50 / aloneAgain.p50).toBeLessThan(10);
  // Both keys wait for the machine. Without shares they would wait equally long, 50 to 100 times as long as with the key by itself.
  expect(besideSlowReaders.mean).toBeLessThan(Math.max(0.85 * ofSlowKey.mean, 10 * alone.mean));
}, 600_000);
