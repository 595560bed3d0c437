/** npm run fuzz -- [--seconds N | --count N] [--seed S] [--at N]: random requests against the checks, the formats and the document. */
import { parseArgs } from "node:util";
import { bodyOf } from "./bodies.ts";
import { type Report, campaign, trial } from "./campaign.ts";

const { values } = parseArgs({
  options: {
    /** A million bodies when neither is given. */
    count: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    /** Only this body, which is printed. */
    at: { type: "string" },
  },
});

const numberOf = (text: string | undefined, otherwise: number): number =>
  text === undefined ? otherwise : Number(text);

const seed = numberOf(values.seed, Date.now() % 1_000_000_000);
const line = ({ bodies, accepted, complaints, seconds }: Report): string =>
  `seed ${seed}: ${bodies} bodies, ${accepted} of them accepted, ${complaints.length} complaints, ${seconds.toFixed(0)} s`;

if (values.at !== undefined) {
  const number = Number(values.at);
  console.log(bodyOf(seed, number).toString());
  console.log((await trial(seed, number)) ?? "nothing is wrong");
} else {
  const timed = values.seconds !== undefined;
  const report = await campaign({
    seed,
    count: numberOf(values.count, timed ? Number.POSITIVE_INFINITY : 1_000_000),
    seconds: numberOf(values.seconds, Number.POSITIVE_INFINITY),
    progress: (sofar) => console.log(line(sofar)),
  });
  for (const { number, what, body } of report.complaints) {
    console.log(`\n--seed ${seed} --at ${number}\n${what}\n${body.slice(0, 2_000)}`);
  }
  console.log(line(report));
  if (report.complaints.length > 0) process.exitCode = 1;
}
