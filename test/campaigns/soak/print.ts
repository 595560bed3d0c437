/** Texts printed by a soak test. */
import type { OutcomeCounts } from "./load.ts";
import { services } from "../../support/installation.ts";
import type { ProcessReading, ReadingsByService } from "../../support/readings.ts";
import type { SoakReport } from "./soak.ts";
import { slopeOf } from "./verdict.ts";

export const countsIn = (counts: OutcomeCounts): string =>
  [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");

const mib = (kib: number) => (kib / 1_024).toFixed(1);

const figures = ({ heapKib, residentKib, descriptors, timers, handles }: ProcessReading) =>
  `heap ${mib(heapKib)} of ${mib(residentKib)} MiB, ${descriptors} descriptors, ${timers} timers, ${handles} handles`;

export const figuresIn = (readings: ReadingsByService): string =>
  services.map((service) => `${service} ${figures(readings[service])}`).join("; ");

/** A line for each service: figures before and after the load, and the growth under load. */
export function linesOf({ before, after, looks, outcomes }: SoakReport): string[] {
  return [
    countsIn(outcomes),
    ...services.map((service) => {
      const { kibPerMinute, error } = slopeOf(looks, service);
      return (
        `${service}: before ${figures(before[service])}; after ${figures(after[service])}; ` +
        `slope of the heap ${kibPerMinute.toFixed(1)} KiB a minute, error ${error.toFixed(1)}`
      );
    }),
  ];
}
