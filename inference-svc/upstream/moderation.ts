/** The service that looks at what users say, where the house file names one for that. */
import { isDeepStrictEqual } from "node:util";
import type { HouseFile, ProviderSettings } from "@sluice/proto/runtime/house-file.js";
import { type ModerationRole, serviceSlug } from "@sluice/proto/runtime/house/internal-models.js";
import { type CallWatch, Detector } from "../internal/detection/detector.ts";
import { moderations } from "../internal/detection/moderations.ts";
import type { DetectorSurroundings } from "./detectors.ts";
import { Service } from "./service.ts";

export interface ModerationSurroundings extends Omit<DetectorSurroundings, "watch"> {
  /** Who hears of the calls to the one that is named. */
  readonly watch: (service: { model: string; provider: string; upstreamModel: string }) => CallWatch;
}

/** The service of the role `moderation`. */
export interface OpenedModeration {
  readonly settings: ModerationService;
  readonly service: Service;
  readonly detector: Detector;
}

/** The role, and whom it names. */
interface ModerationService {
  readonly role: ModerationRole;
  readonly provider: ProviderSettings;
}

/** Undefined where the house file names no service. @param before the one until now: as of detectors */
export function openModeration(
  { internal_models: { moderation: role }, providers }: HouseFile,
  { version, watch, now }: ModerationSurroundings,
  before?: OpenedModeration,
): OpenedModeration | undefined {
  const provider = providers.find(({ id }) => id === role?.provider);
  const settings = role && provider && { role, provider };
  if (before && isDeepStrictEqual(before.settings, settings)) return before;
  before?.service.retire();
  if (role === undefined || settings === undefined || provider?.base_url === undefined) return undefined;
  const { base_url, api_keys: [key] = [] } = provider;
  const service = new Service({ base_url, api_key: key }, `sluice/${version}`);
  const asked = { ...role, id: "moderation", categories: {}, threshold: 0, window_chars: undefined };
  const detector = new Detector(asked, moderations(role), {
    post: service.post,
    watch: watch({ model: serviceSlug(role), provider: provider.id, upstreamModel: role.upstream_model }),
    now,
  });
  return { settings, service, detector };
}
