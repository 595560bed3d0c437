/** npm run chaos -- [--kills N] [--seed S]: kills processes of a house at random, and says whether anything was lost. */
import { numbersGiven } from "../support/campaign-options.ts";
import { campaign } from "./campaign.ts";

const given = numbersGiven("chaos", {
  /** A thousand when absent: about an hour. */
  kills: { usual: 1_000, least: 1, most: 1_000_000 },
  seed: { usual: Date.now() % 1_000_000_000, least: 0, most: 1_000_000_000 },
});

const { kills, answered, acknowledged, calls, complaints } = await campaign({
  kills: given.kills,
  seed: given.seed,
  progress: (line) => console.log(line),
});
for (const complaint of complaints) console.log(complaint);
console.log(
  `seed ${given.seed}: ${kills} kills, ${answered} turns answered, ${acknowledged} writes acknowledged, ${calls} calls at the provider, ${complaints.length} complaints`,
);
if (complaints.length > 0) process.exitCode = 1;
