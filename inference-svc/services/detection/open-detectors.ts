/** Opens the detection services in the configuration file, each with its connections. */
import { isDeepStrictEqual } from "node:util";
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import { type CallWatch, Detector } from "./detector.ts";
import type { DetectorWire } from "./wire.ts";
import { presidio } from "./presidio.ts";
import { tei } from "./tei.ts";
import { webhook } from "./webhook.ts";
import { ServiceClient } from "../service-client.ts";

const wires: Readonly<Record<DetectorSettings["dialect"], (settings: DetectorSettings) => DetectorWire>> = {
  presidio,
  tei,
  webhook,
};

export interface Detectors {
  readonly opened: ReadonlyMap<string, OpenedDetector>;
  /** Detectors by id. */
  readonly byId: ReadonlyMap<string, Detector>;
  /** Waits for running calls. */
  close(): Promise<void>;
}

interface OpenedDetector {
  readonly settings: DetectorSettings;
  readonly service: ServiceClient;
  readonly detector: Detector;
}

export interface DetectorDependencies {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  readonly watch: CallWatch;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
}

/** @param before detectors of the previous configuration; those with unchanged settings are kept with their state */
export function openDetectors(
  all: readonly DetectorSettings[],
  dependencies: DetectorDependencies,
  before?: Detectors,
): Detectors {
  const opened = new Map(
    all.map((settings) => {
      const old = before?.opened.get(settings.id);
      const same = old && isDeepStrictEqual(old.settings, settings);
      return [settings.id, same ? old : openDetector(settings, dependencies)];
    }),
  );
  const used = new Set(opened.values());
  for (const old of before?.opened.values() ?? []) if (!used.has(old)) old.service.retire();
  return {
    opened,
    byId: new Map([...opened].map(([id, { detector }]) => [id, detector])),
    close: async () => void (await Promise.all([...used].map(({ service }) => service.close()))),
  };
}

function openDetector(settings: DetectorSettings, { version, watch, now }: DetectorDependencies): OpenedDetector {
  // The path of a webhook is used by its protocol, so only the origin is needed here.
  const base = settings.dialect === "webhook" ? new URL(settings.base_url).origin : settings.base_url;
  const service = new ServiceClient({ ...settings, base_url: base }, `sluice/${version}`);
  return {
    settings,
    service,
    detector: new Detector(settings, wires[settings.dialect](settings), { post: service.post, watch, now }),
  };
}
