/** Reads the metrics of an installation as Prometheus does. */
import type { Installation } from "./installation.ts";

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The metrics of all three services as one text. */
export async function scrape({ ports }: Pick<Installation, "ports">): Promise<string> {
  const read = async (port: number) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const texts = await Promise.all([ports.gateway_health, ports.inference_health, ports.admin_health].map(read));
  return texts.join("\n");
}

/** Names of declared metrics, with or without a sample. */
export const metricNames = (text: string): Set<string> =>
  new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string));

export const samplesOf = (text: string): Sample[] =>
  [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = "", labels = "", value]) => ({
    name,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text_]) => [key, text_]),
    ),
    value: Number(value),
  }));
