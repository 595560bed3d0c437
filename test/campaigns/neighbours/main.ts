/**
 * npm run neighbours -- [--slow-readers N] [--slow-keys N] [--document-clients N] [--refused-clients N] [--turns N]: whether other clients slow a
 * key's turns down.
 */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { runNeighboursCampaign } from "./campaign.ts";

const given = readNumbersOrExit("neighbours", {
  "slow-readers": { default: 1_000, min: 1, max: 10_000 },
  "slow-keys": { default: 10, min: 1, max: 100 },
  "document-clients": { default: 200, min: 1, max: 1_000 },
  "refused-clients": { default: 200, min: 1, max: 1_000 },
  turns: { default: 300, min: 1, max: 100_000 },
});

const report = await runNeighboursCampaign({
  slowReaders: given["slow-readers"],
  slowKeys: given["slow-keys"],
  documentClients: given["document-clients"],
  refusedClients: given["refused-clients"],
  turns: given.turns,
  progress: (line) => console.log(line),
});
const complaints: string[] = [];
const { besideSlowReaders, besideDocuments, besideRefusals, aloneAgain, grown } = report;
/** Maximum growth in KiB per slow reader: twice the credit of a turn, for bytes in flight and for received text of its answer. */
const maxGrowthKib = 256;
if (besideSlowReaders.p99 >= 1_000)
  complaints.push("beside slow readers the p99 of the first byte is a second or more");
if (besideDocuments.p50 >= 2 * aloneAgain.p50) complaints.push("beside the documents the p50 of a turn is doubled");
if (besideRefusals.p50 >= 2 * aloneAgain.p50) complaints.push("beside refused clients the p50 of a turn is doubled");
if (grown.gateway > maxGrowthKib || grown.inference > maxGrowthKib)
  complaints.push(`a slow reader takes more than ${maxGrowthKib} KiB of a process`);
if (besideSlowReaders.refused + besideDocuments.refused > 0) complaints.push("turns were refused");
for (const complaint of complaints) console.log(complaint);
console.log(`${report.slowAnswered} slow readers answered, ${complaints.length} complaints`);
if (complaints.length > 0) process.exitCode = 1;
