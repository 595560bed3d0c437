/** Runs all parts of a simulation, one after the other. */
import { type SimulationFigures, findComplaints } from "./complaints.ts";
import { simulateFanOut } from "./fan-out.ts";
import { type Outage, type OutageFigures, simulateOutage } from "./outage.ts";
import { simulateReads } from "./reads.ts";
import { simulateSessions } from "./sessions.ts";
import type { Size } from "./size.ts";
import { VirtualTime } from "./virtual-time.ts";

const outages: readonly Outage[] = [
  { name: "one of three endpoints refuses", health: "refusing", places: [0] },
  { name: "one of three endpoints is silent", health: "silent", places: [0] },
  { name: "one of three endpoints browns out", health: "brownout", places: [0] },
  { name: "all endpoints refuse", health: "refusing", places: [0, 1, 2] },
];

export interface SimulationResults {
  readonly figures: SimulationFigures;
  readonly complaints: readonly string[];
}

/** Takes over the clock, the timers and the random numbers of this process. */
export async function runSimulation(seed: number, size: Size): Promise<SimulationResults> {
  const time = new VirtualTime();
  time.install(seed);
  const simulated: OutageFigures[] = [];
  for (const outage of outages) simulated.push(await simulateOutage(time, seed, size, outage));
  const figures: SimulationFigures = {
    outages: simulated,
    sessions: simulateSessions(size.keys),
    fanOut: await simulateFanOut(time, seed, size.replicas),
    reads: await simulateReads(time, seed, size),
  };
  return { figures, complaints: findComplaints(figures, size) };
}
