/** npm run chaos -- [--kills N] [--seed S] [--replicas 0|1|2]: kills random processes of an installation, and reports losses. */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { runChaosCampaign } from "./campaign.ts";

const given = readNumbersOrExit("chaos", {
  /** Number of kills; a thousand take about an hour. */
  kills: { default: 1_000, min: 1, max: 1_000_000 },
  /** Number of inference processes; with 0, gateway and inference-svc are one process. */
  replicas: { default: 2, min: 0, max: 2 },
  seed: { default: Date.now() % 1_000_000_000, min: 0, max: 1_000_000_000 },
});

const { kills, answered, acknowledged, calls, complaints } = await runChaosCampaign({
  ...given,
  progress: (line) => console.log(line),
});
for (const complaint of complaints) console.log(complaint);
console.log(
  `seed ${given.seed}: ${kills} kills, ${answered} turns answered, ${acknowledged} writes acknowledged, ${calls} calls at the provider, ${complaints.length} complaints`,
);
if (complaints.length > 0) process.exitCode = 1;
