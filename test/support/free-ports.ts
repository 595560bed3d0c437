/**
 * Ports for programs that cannot take port 0. They lie below the range from which the system takes ports for outgoing
 * connections: a port from that range may be taken between the choice and the use. For the same reason, and since a process that is started
 * again wants its port back, each of the two workers of jest has half of them to itself.
 */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const each = 10_000;
const first = each * (1 + (Number(process.env["JEST_WORKER_ID"] ?? 1) % 2));
const last = first + each - 1;

// At random, since other runs choose at the same time; then upwards, so that this one never repeats itself.
let next = randomInt(first, last);

export async function freePort(): Promise<number> {
  return (await freePorts(1))[0] as number;
}

/** @param offsets each port is also free at these distances above it */
export async function freePorts(count: number, offsets: readonly number[] = [0]): Promise<number[]> {
  const ports: number[] = [];
  const taken = new Set<number>();
  while (ports.length < count) {
    const port = step();
    const all = offsets.map((offset) => port + offset);
    if (all.some((candidate) => taken.has(candidate)) || !(await allFree(all))) continue;
    for (const candidate of all) taken.add(candidate);
    ports.push(port);
  }
  return ports;
}

function step(): number {
  next = next >= last ? first : next + 1;
  return next;
}

async function allFree(ports: readonly number[]): Promise<boolean> {
  for (const port of ports) if (!(await isFree(port))) return false;
  return true;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
