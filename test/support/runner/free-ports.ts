/**
 * Ports for programs unable to take port 0. They are below the system's range for outgoing connections, one of which could take a port between its
 * choice and its use. For the same reason each worker of Jest has its own range, and a port is marked for other runs on this machine until the
 * program has had time to listen.
 */
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const lowest = 10_000;
/** First port for outgoing connections if the system does not publish it: the default of Linux, which is lower than that of other systems. */
const usualOutgoing = 32_768;
/** Number of port ranges: one for each worker in jest.config.mjs, and one for programs outside of them. */
export const portRangeCount = 5;
/** Milliseconds for which a port stays marked: on a busy machine, twenty seconds have passed until the last process listened. */
const claimedForMs = 60_000;

const each = Math.floor((firstOutgoing() - lowest) / portRangeCount);
const first = lowest + each * (Number(process.env["JEST_WORKER_ID"] ?? 0) % portRangeCount);
const last = first + each - 1;

// Next port to try. It starts at random, since other runs choose at the same time, and then counts up, so this run never repeats a port.
let next = randomInt(first, last);

export async function freePort(): Promise<number> {
  return (await freePorts(1))[0] as number;
}

/** @param offsets distances above a port at which further ports must be free, too */
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

/** Marks a port by taking the UDP port of the same number, which the programs here do not use, and which every run can see. */
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
