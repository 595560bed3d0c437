/** Finds the vendor whose rules a provider follows: the configured one, else the one of its host. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { type Vendor, vendors } from "@sluice/proto/config/vendors.js";
import type { Dialect } from "./dialect.ts";

/**
 * Hosts of vendors, and of clouds with a vendor's own implementation, each with the vendor and, if a cloud serves
 * several vendors, with the dialects.
 */
const hosts: readonly (readonly [host: RegExp, vendor: string, dialects?: readonly string[]])[] = [
  // Regional hosts of OpenAI have the region in front
  // (https://platform.openai.com/docs/guides/your-data#data-residency-controls).
  [/(^|\.)api\.openai\.com$/, "openai"],
  [/(^|\.)api\.anthropic\.com$/, "anthropic"],
  // Azure OpenAI and Foundry, also in the clouds of the US government and of China.
  [/\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/, "openai", ["chat", "responses"]],
  [/\.services\.ai\.azure\.(com|us|cn)$/, "anthropic", ["messages"]],
  // Moonshot in China, and its plan for coding (https://platform.moonshot.cn/docs, https://www.kimi.com/coding/docs/).
  [/^api\.(moonshot\.cn|kimi\.com)$/, "moonshotai", ["chat"]],
];

/** Vendors of chat completions by their host, which may have a region in front. */
const chatHosts = Object.entries<Vendor>(vendors)
  .filter(([, { dialect }]) => dialect === "chat")
  .map(([vendor, { base_url: url }]) => ({ vendor, host: new URL(url).hostname }));

const chatVendorOf = (hostname: string): string | undefined =>
  chatHosts.find(({ host }) => hostname === host || hostname.endsWith(`.${host}`))?.vendor;

/** The host by which tables find a vendor. */
const ownHosts: Readonly<Record<string, string>> = {
  openai: "api.openai.com",
  anthropic: "api.anthropic.com",
  google: "generativelanguage.googleapis.com",
  xai: "api.x.ai",
};

type Named = Pick<ProviderSettings, "vendor" | "dialect">;

/** Name of a provider's vendor in the catalogue. @returns undefined when the vendor is unknown */
export const vendorOf = ({ vendor, dialect }: Named, hostname: string): string | undefined =>
  vendor ??
  hosts.find(([host, , dialects]) => host.test(hostname) && dialects?.includes(dialect) !== false)?.[1] ??
  chatVendorOf(hostname);

/** Names of the fields a server has because of its vendor's version of the format. */
export function fieldsOfVendor(settings: Named, hostname: string): readonly string[] {
  const vendor = vendorOf(settings, hostname);
  const known: Readonly<Record<string, Vendor>> = vendors;
  const row = vendor !== undefined && Object.hasOwn(known, vendor) ? known[vendor] : undefined;
  return (row?.dialect === settings.dialect && row.fields) || [];
}

/** Whether a provider is the vendor of its format, or a proxy in front of it. */
export const isVendorOfFormat = (settings: Named, hostname: string, dialect: Dialect): boolean =>
  dialect.alwaysOriginal ?? (dialect.vendor !== undefined && vendorOf(settings, hostname) === dialect.vendor);

/** Host of the configured vendor. @returns undefined when none is configured, or when its host is unknown */
export const configuredVendorHost = ({ vendor }: Named): string | undefined =>
  vendor !== undefined && Object.hasOwn(ownHosts, vendor) ? ownHosts[vendor] : undefined;
