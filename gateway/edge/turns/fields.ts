/** Fields that have the same name and shape in several formats. */
import type { PluginJson } from "@sluice/proto/contract/plugins/plugin-messages.js";
import type { PreferencesJson } from "@sluice/proto/contract/request/preferences.js";
import { UnsetParameters } from "./parameters.ts";

/** Accepted values of a request by their JSON names. An absent field is undefined; null, if a format accepts it, means the same. */
export class TurnFields extends UnsetParameters {
  readonly model: string | null | undefined = undefined;
  readonly models: string[] | null | undefined = undefined;
  readonly stream: boolean | null | undefined = undefined;
  readonly parallel_tool_calls: boolean | null | undefined = undefined;
  readonly max_tool_calls: number | null | undefined = undefined;
  readonly stop_server_tools_when: unknown = undefined;
  readonly metadata: Record<string, string> | null | undefined = undefined;
  readonly user: string | null | undefined = undefined;
  readonly safety_identifier: string | null | undefined = undefined;
  readonly session_id: string | null | undefined = undefined;
  readonly prompt_cache_key: string | null | undefined = undefined;
  readonly cache_control: { readonly ttl?: string } | null | undefined = undefined;
  readonly service_tier: string | null | undefined = undefined;
  readonly provider: PreferencesJson | null | undefined = undefined;
  readonly plugins: readonly PluginJson[] | null | undefined = undefined;
  readonly debug: { readonly echo_upstream_body?: boolean } | null | undefined = undefined;
}
