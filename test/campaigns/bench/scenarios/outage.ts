/** An outage of a minute at three endpoints of a provider: how often they are called meanwhile, and how soon they serve again. */
import type { Bench, ResultRow } from "../bench.ts";
import type { Script } from "../script.ts";

const perSecond = 50;
const mostAttempts = 1.2;
/** Maximum time of an ejection in milliseconds: 30 s, and up to a fifth more. */
const halfOpenMs = 36_000;

export const outageScript: Script = { kind: "outage" };

export async function measureOutage(
  { load, mock, installation, pace }: Bench,
  quick: boolean,
): Promise<readonly ResultRow[]> {
  const offer = (forMs: number, settleMs: number) =>
    load.call("offer", {
      target: installation.target,
      script: outageScript,
      perSecond,
      connections: 200,
      forMs,
      settleMs,
    });
  const forMs = quick ? 5_000 : 50_000;
  await offer(2_000, 0);
  await mock.call("fail", true);
  await offer(10_000, 0);
  const before = await mock.call("asked");
  const outage = await offer(forMs, 0);
  const attempts = (await mock.call("asked")) - before;
  const backAt = performance.now();
  await mock.call("fail", false);
  let recoveredMs = Number.POSITIVE_INFINITY;
  while (performance.now() - backAt < halfOpenMs) {
    const { sent, servedMs } = await offer(pace.windowMs, 0);
    // Not all requests must be answered: some are still running when the outage ends.
    if (servedMs.length >= 0.9 * sent) {
      recoveredMs = performance.now() - backAt;
      break;
    }
  }
  const ratio = attempts / outage.sent;
  const common = { pipe: "", ratio: "" } as const;
  return [
    {
      ...common,
      measure: `outage: attempts for each request while all three endpoints fail, ${perSecond} a second, from the tenth second to the ${10 + forMs / 1_000}th`,
      installation: ratio.toFixed(2),
      gate: `<= ${mostAttempts}`,
      verdict: ratio <= mostAttempts ? "pass" : "FAIL",
    },
    {
      ...common,
      measure: "outage: from its end until all are served",
      installation:
        recoveredMs === Number.POSITIVE_INFINITY ? "never" : `less than ${(recoveredMs / 1_000).toFixed(1)} s`,
      gate: `<= ${halfOpenMs / 1_000} s`,
      verdict: recoveredMs <= halfOpenMs ? "pass" : "FAIL",
    },
  ];
}
