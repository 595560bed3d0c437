/**
 * Ports for programs unable to take port 0. They lie below the system's range for outgoing connections: a port from
 * that range may be taken between the choice and the use. For the same reason each worker of jest has its own share
 * of them, and other runs on this machine are kept off until the program has had time to listen.
 */
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const lowest = 10_000;
/** First outgoing port when the system does not publish it: the default of Linux, lower than other systems' defaults. */
const usualOutgoing = 32_768;
/** Number of port ranges: one for each worker of jest.config.mjs, and another for programs outside of them. */
export const portRangeCount = 5;
/** A busy machine has taken twenty seconds from the choice until the last process listened. */
const claimedForMs = 60_000;

const each = Math.floor((firstOutgoing() - lowest) / portRangeCount);
const first = lowest + each * (Number(process.env["JEST_WORKER_ID"] ?? 0) % portRangeCount);
const last = first + each - 1;

// Starts at random, since other runs choose at the same time; then counts up, so that this run never repeats a port.
let next = randomInt(first, last);

export async function freePort(): Promise<number> {
  return (await freePorts(1))[0] as number;
}

/** @param offsets each port is also free at these distances above it */
export async function freePorts(count: number, offsets: readonly number[] = [0]): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = step(Math.max(...offsets));
    if (await claimAll(offsets.map((offset) => port + offset))) ports.push(port);
  }
  return ports;
}

function step(reach: number): number {
  next = next + reach >= last ? first : next + 1;
  return next;
}

async function claimAll(ports: readonly number[]): Promise<boolean> {
  for (const port of ports) if (!((await isFree(port)) && (await claim(port)))) return false;
  return true;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Takes the UDP port of the same number: unused by the programs here, and visible to every run. */
function claim(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4").unref();
    socket.once("error", () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, () => {
      setTimeout(() => socket.close(), claimedForMs).unref();
      resolve(true);
    });
  });
}

function firstOutgoing(): number {
  try {
    const [start] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").trim().split(/\s+/);
    return Number(start) >= 2 * lowest ? Number(start) : usualOutgoing;
  } catch {
    return usualOutgoing;
  }
}
