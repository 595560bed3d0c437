/** Metrics of requests to MCP servers: number, outcome and duration. */
import { Counter, Histogram, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { McpWatch } from "./client.ts";

export function mcpMetrics(registry: Registry): McpWatch {
  const registers = [registry];
  const requests = new Counter({
    name: "sluice_mcp_requests_total",
    help: "Lists of tools and calls at MCP servers by outcome: answered, failed, or cancelled by the end of the turn.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_mcp_request_seconds",
    help: "Seconds from a list or call at an MCP server to its result or failure.",
    labelNames: ["kind"],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60],
    registers,
  });
  return (kind) => {
    const begunAt = performance.now();
    return (outcome) => {
      requests.labels({ kind, outcome }).inc();
      seconds.labels({ kind }).observe((performance.now() - begunAt) / 1_000);
    };
  };
}
