/** The detectors beside the house that its file names, each with its connections. */
import { isDeepStrictEqual } from "node:util";
import type { DetectorSettings } from "@sluice/proto/runtime/house/detectors.js";
import { type CallWatch, Detector } from "../internal/detection/detector.ts";
import type { Wire } from "../internal/detection/mark.ts";
import { presidio } from "../internal/detection/presidio.ts";
import { tei } from "../internal/detection/tei.ts";
import { Service } from "./service.ts";

const wires: Readonly<Record<DetectorSettings["dialect"], (settings: DetectorSettings) => Wire>> = { presidio, tei };

export interface Detectors {
  readonly opened: ReadonlyMap<string, OpenedDetector>;
  /** By id. */
  readonly byId: ReadonlyMap<string, Detector>;
  /** Waits for calls under way. */
  close(): Promise<void>;
}

interface OpenedDetector {
  readonly settings: DetectorSettings;
  readonly service: Service;
  readonly detector: Detector;
}

export interface DetectorSurroundings {
  /** Of the house, for the user agent. */
  readonly version: string;
  readonly watch: CallWatch;
  /** Milliseconds. */
  readonly now: () => number;
}

/** @param before those until now: one whose settings stay goes on as it is, with what it remembers */
export function openDetectors(
  all: readonly DetectorSettings[],
  surroundings: DetectorSurroundings,
  before?: Detectors,
): Detectors {
  const opened = new Map(
    all.map((settings) => {
      const old = before?.opened.get(settings.id);
      const same = old && isDeepStrictEqual(old.settings, settings);
      return [settings.id, same ? old : openDetector(settings, surroundings)];
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

function openDetector(settings: DetectorSettings, { version, watch, now }: DetectorSurroundings): OpenedDetector {
  const service = new Service(settings, `sluice/${version}`);
  return {
    settings,
    service,
    detector: new Detector(settings, wires[settings.dialect](settings), { post: service.post, watch, now }),
  };
}
