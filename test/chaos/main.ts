/** npm run chaos -- [--kills N] [--seed S]: kills processes of a house at random, and says whether anything was lost. */
import { parseArgs } from "node:util";
import { campaign } from "./campaign.ts";

const { values } = parseArgs({
  options: {
    /** A thousand when absent: about an hour. */
    kills: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  },
});

const { kills, answered, acknowledged, calls, complaints } = await campaign({
  kills: Number(values.kills),
  seed: Number(values.seed),
  progress: (line) => console.log(line),
});
for (const complaint of complaints) console.log(complaint);
console.log(
  `seed ${values.seed}: ${kills} kills, ${answered} turns answered, ${acknowledged} writes acknowledged, ${calls} calls at the provider, ${complaints.length} complaints`,
);
if (complaints.length > 0) process.exitCode = 1;
