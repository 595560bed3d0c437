/** Where something is that is asked, in the words of OpenTelemetry. */
import type { Attributes } from "@sluice/proto/runtime/tracing/span.js";

export function addressAttributes(baseUrl: string | undefined): Attributes {
  if (baseUrl === undefined) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  return { "server.address": hostname, "server.port": Number(port || (protocol === "https:" ? 443 : 80)) };
}
