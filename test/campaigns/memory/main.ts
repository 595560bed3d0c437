/**
 * npm run memory -- [--bodies N] [--messages N] [--answers N]: whether processes survive under memory limits with their default settings. Needs root
 * and control groups.
 */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { makeMemoryGroup } from "./limited.ts";
import { type EndlessKind, endlessKinds, startEndless, waitUntilMemoryReleased } from "./endless.ts";
import { type PressedInstallation, type PressureOptions, startPressed } from "./pressing.ts";
import type { RequestStorm } from "./storm.ts";

const given = readNumbersOrExit("memory", {
  /** Number of bodies of 31 MiB each, all with one key. */
  bodies: { default: 40, min: 1, max: 1_000 },
  /** Number of messages of 48 MiB each, without a key. */
  messages: { default: 200, min: 1, max: 1_000 },
  /** Number of endless answers of each kind, one kind after another, all with one key. */
  answers: { default: 48, min: 1, max: 1_000 },
});

const mib = 1024 * 1024;
/** Milliseconds that 48 answers of 62 MB take on two cores. */
const endlessMs = 25_000;
/** Memory limits of the containers in deploy/kubernetes/base. */
const groups = {
  gateway: makeMemoryGroup(`sluice-gateway-${process.pid}`, 1_024 * mib),
  inference: makeMemoryGroup(`sluice-inference-${process.pid}`, 2_048 * mib),
};
const pressed = await startPressed(groups, { embeddedPostgres: true });
const storms: readonly Omit<RequestStorm, "port">[] = [
  { kind: "bodies", count: given.bodies, bytes: 31 * mib, key: pressed.installation.apiKey },
  { kind: "messages", count: given.messages, bytes: 48 * mib - 1_000 },
];
for (const storm of storms) print(storm.kind, await pressed.press(storm));
let alive = isAlive(pressed);
await pressed.stop();
const endless = await startEndless(groups, { embeddedPostgres: true });
for (const kind of Object.keys(endlessKinds) as EndlessKind[]) {
  const { outcomes, small, honest } = await endless.press([kind], given.answers, (ms) => ms > endlessMs);
  const [status, characters] = honest;
  print(`${given.answers} endless answers (${kind})`, { outcomes, small, ms: endlessMs });
  console.log(`  an honest answer: status ${status}, ${characters} characters`);
  if (status !== 200 || !isAlive(endless)) alive = false;
  await waitUntilMemoryReleased(endless);
}
alive &&= isAlive(endless);
await endless.stop();
for (const group of Object.values(groups)) group.remove();
if (!alive) process.exitCode = 1;

function isAlive({ gateway, inference }: Pick<PressedInstallation, "gateway" | "inference">): boolean {
  console.log(`gateway ${gateway.alive ? "lives" : "ended"}, inference-svc ${inference.alive ? "lives" : "ended"}`);
  return gateway.alive && inference.alive;
}

function print(kind: string, { outcomes, small, ms }: PressureOptions): void {
  const times = small.map(([, took]) => took).sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  const answered = small.filter(([status]) => status === 200).length;
  const peaks = Object.entries(groups).map(([name, { peakBytes }]) => `${name} ${Math.round(peakBytes / mib)} MiB`);
  console.log(`${kind}: ${JSON.stringify(outcomes)} in ${Math.round(ms)} ms; peak ${peaks.join(", ")}`);
  console.log(`  another key: ${answered} of ${small.length} answered, median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}
