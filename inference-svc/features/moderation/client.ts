/** Opens the moderation service of the configuration file. */
import { isDeepStrictEqual } from "node:util";
import type { ConfigFile, ProviderSettings } from "@sluice/proto/config/config-file.js";
import { type ModerationRole, moderatesImages, serviceSlug } from "@sluice/proto/config/internal-models.js";
import { type CallWatch, Detector } from "../../services/detection/detector.ts";
import { imageModerations, moderations } from "../../services/detection/moderations.ts";
import type { DetectorDependencies } from "../../services/detection/open-detectors.ts";
import { ServiceClient } from "../../services/service-client.ts";

export interface ModerationDependencies extends Omit<DetectorDependencies, "watch"> {
  /** Called for each moderation call with the service called. */
  readonly watch: (service: { model: string; provider: string; upstreamModel: string }) => CallWatch;
}

/** The opened service with the role `moderation`. */
export interface OpenedModeration {
  readonly settings: ModerationService;
  readonly service: ServiceClient;
  readonly detectors: ModerationDetectors;
}

export interface ModerationDetectors {
  readonly texts: Detector;
  /** Detector for images; undefined for a service that reads only texts. */
  readonly images: Detector | undefined;
}

/** The configured role, and the provider of its model. */
interface ModerationService {
  readonly role: ModerationRole;
  readonly provider: ProviderSettings;
}

/**
 * @param before the service of the previous configuration, kept if its settings are unchanged
 * @returns undefined when no service is configured
 */
export function openModeration(
  { internal_models: { moderation: role }, providers }: ConfigFile,
  { version, watch, now }: ModerationDependencies,
  before?: OpenedModeration,
): OpenedModeration | undefined {
  const provider = providers.find(({ id }) => id === role?.provider);
  const settings = role && provider && { role, provider };
  if (before && isDeepStrictEqual(before.settings, settings)) return before;
  before?.service.retire();
  if (role === undefined || settings === undefined || provider?.base_url === undefined) return undefined;
  const { base_url, api_keys: [key] = [] } = provider;
  const service = new ServiceClient({ base_url, api_key: key }, `sluice/${version}`);
  const detectorSettings = { ...role, id: "moderation", categories: {}, threshold: 0, window_chars: undefined };
  const parts = {
    post: service.post,
    watch: watch({ model: serviceSlug(role), provider: provider.id, upstreamModel: role.upstream_model }),
    now,
  };
  const texts = new Detector(detectorSettings, moderations(role), parts);
  const images = moderatesImages(role) ? new Detector(detectorSettings, imageModerations(role), parts) : undefined;
  return { settings, service, detectors: { texts, images } };
}
